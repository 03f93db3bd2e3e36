import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Tessera(MakefilePackage):
    """Fine-grain parallel solvers for PETSc, as a plugin: multigrid for grids, meshes, bounds and contact, which any
    PETSc program takes by options on its command line."""

    # The repository that this recipe lies in.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))

    license("BSD-2-Clause")

    version("main", branch="main")

    variant("cuda", default=False, description="Kernels for CUDA devices")
    variant("openmp", default=True, description="Threads on the host")
    variant("cuda_arch", default="90", description="Compute capability", values=str, when="+cuda")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("gmake", type="build")
    depends_on("python@3.8:", type="build")
    depends_on("petsc@3.18: +shared ~complex +double")
    depends_on("petsc +cuda", when="+cuda")
    depends_on("cuda@12.4:", when="+cuda")
    depends_on("mpi")

    @property
    def build_targets(self):
        return ["lib"] + self.variables()

    @property
    def install_targets(self):
        return ["install", "PREFIX={0}".format(self.prefix)] + self.variables()

    def variables(self):
        """Spack's compiler wrappers know the processor, so the makefile does not ask for one."""
        found = [
            "PETSC_DIR={0}".format(self.spec["petsc"].prefix),
            "PETSC_ARCH=",
            "MARCH=",
            "CXX={0}".format(self.spec["mpi"].mpicxx),
            "OPENMP={0}".format(int("+openmp" in self.spec)),
            "CUDA={0}".format(int("+cuda" in self.spec)),
        ]
        if "+cuda" in self.spec:
            nvcc = join_path(self.spec["cuda"].prefix.bin, "nvcc")
            found += ["NVCC={0}".format(nvcc), "CUDA_ARCH={0}".format(self.spec.variants["cuda_arch"].value)]
        return found

    def setup_run_environment(self, env):
        env.set("TESSERA_LIB", join_path(self.prefix.lib, "libtessera.so"))
