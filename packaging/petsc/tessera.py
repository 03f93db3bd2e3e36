import config.package


class Configure(config.package.Package):
    """For config/BuildSystem/config/packages of PETSc: ./configure --download-tessera=<archive or repository>"""

    def __init__(self, framework):
        config.package.Package.__init__(self, framework)
        self.version = '0.1.0'
        self.download = ['tessera-0.1.0.tar.gz']  # in PETSc's folder; --download-tessera=<archive> names another
        self.functions = ['TesseraInitializePackage']
        self.includes = ['tessera.h']
        self.liblist = [['libtessera.so']]
        self.complex = 0
        self.precisions = ['double']
        self.linkedbypetsc = 0
        self.builtafterpetsc = 1

    def setupDependencies(self, framework):
        config.package.Package.setupDependencies(self, framework)
        self.sharedLibraries = framework.require('PETSc.options.sharedLibraries', self)
        self.mpi = framework.require('config.packages.MPI', self)
        self.blasLapack = framework.require('config.packages.BlasLapack', self)
        self.cuda = framework.require('config.packages.CUDA', self)
        self.scalartypes = framework.require('PETSc.options.scalarTypes', self)
        self.deps = [self.mpi, self.blasLapack]
        self.odeps = [self.cuda]

    def Install(self):
        import os

        if not self.checkSharedLibrariesEnabled():
            raise RuntimeError('Tessera is a plugin: it needs a PETSc with shared libraries')
        # As for other packages that are built after PETSc: an installed PETSc has no PETSC_ARCH.
        if self.argDB['prefix'] and 'package-prefix-hash' not in self.argDB:
            prefix = os.path.abspath(os.path.expanduser(self.argDB['prefix']))
            where = 'PETSC_DIR=%s PETSC_ARCH=' % prefix
        else:
            prefix = os.path.join(self.petscdir.dir, self.arch)
            where = 'PETSC_DIR=${PETSC_DIR} PETSC_ARCH=${PETSC_ARCH}'
        self.include = [os.path.join(self.installDir, 'include')]
        self.lib = [os.path.join(self.installDir, 'lib', 'libtessera.so')]
        where += ' PYTHON=${PYTHON} PREFIX=' + prefix
        self.addPost(self.packageDir, ['${OMAKE} -j${MAKE_NP} lib ' + where, '${OMAKE} install ' + where])
        self.addMakeCheck(self.packageDir, '${OMAKE} check ' + where)
        return self.installDir
