"""Runs a DOLFINx program as it is; where it makes its first function space, the coordinates of the unknowns go to the file that
-pc_auxamg_coordinates, or -snes_vipmg_coordinates, names.

    export PETSC_OPTIONS="-dll_append .../libtessera.so -ksp_type cg -pc_type auxamg -pc_auxamg_coordinates points.bin"
    mpiexec -n 2 python3 dolfinx_coordinates.py program.py

It must be the run that solves: on several processes DOLFINx may distribute and number the same mesh in another way the next time.
"""
import runpy, sys

from dolfinx import fem
from petsc4py import PETSc

OPTION = next((o for o in ('pc_auxamg_coordinates', 'snes_vipmg_coordinates') if PETSc.Options().hasName(o)), None)
if len(sys.argv) < 2 or not OPTION:
    sys.exit('PETSC_OPTIONS has no -pc_auxamg_coordinates or -snes_vipmg_coordinates FILE, or there is no program:\n\n' + __doc__)
make = fem.FunctionSpace.__init__


def write(V, *arguments, **keywords):
    make(V, *arguments, **keywords)
    fem.FunctionSpace.__init__ = make  # the first space is the one
    dim, own = V.mesh.geometry.dim, V.dofmap.index_map.size_local
    x = PETSc.Vec().createMPI((dim * own, None), comm=V.mesh.comm)
    x.array[:] = V.tabulate_dof_coordinates()[:own, :dim].ravel()
    x.view(PETSc.Viewer().createBinary(PETSc.Options().getString(OPTION), 'w', comm=V.mesh.comm))


fem.FunctionSpace.__init__ = write
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name='__main__')
