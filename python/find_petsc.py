"""Prints, as variables of make, the PETSc that the Python package is built for: that of PETSC_DIR and PETSC_ARCH, else
that of petsc4py, else pip's. Where there is none of these it ends with an error, before minutes are spent on a library
that the package could not load."""

import importlib
import os
import sys


def main():
    found = {name: os.environ.get(name, '') for name in ('PETSC_DIR', 'PETSC_ARCH')}
    for module in ('petsc4py', 'petsc'):
        if found['PETSC_DIR']:
            break
        try:
            found.update(importlib.import_module(module).get_config())
        except ImportError:
            continue
    if not found['PETSC_DIR']:
        sys.exit(
            'Tessera: this Python, %s, has no petsc4py, whose PETSc the package works with.\n'
            "Debian's python3-petsc4py belongs to /usr/bin/python3: make the virtual environment by\n"
            '    /usr/bin/python3 -m venv --system-site-packages ENVIRONMENT\n'
            'To build for a PETSc without petsc4py, set PETSC_DIR and PETSC_ARCH.' % sys.executable
        )
    arch = (found.get('PETSC_ARCH') or '').split(os.pathsep)[0]  # petsc4py may know several
    print('PETSC_DIR=%s;PETSC_ARCH=%s' % (found['PETSC_DIR'], arch))


if __name__ == '__main__':
    main()
