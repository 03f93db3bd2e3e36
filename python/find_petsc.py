"""Prints, as variables of make, the PETSc that the Python package is built for: that of PETSC_DIR and PETSC_ARCH, else
that of petsc4py, else pip's; nothing where the makefile finds one by pkg-config."""

import importlib
import os


def main():
    found = {name: os.environ.get(name, '') for name in ('PETSC_DIR', 'PETSC_ARCH')}
    for module in ('petsc4py', 'petsc'):
        if found['PETSC_DIR']:
            break
        try:
            found.update(importlib.import_module(module).get_config())
        except ImportError:
            continue
    if found['PETSC_DIR']:
        arch = (found.get('PETSC_ARCH') or '').split(os.pathsep)[0]  # petsc4py may know several
        print('PETSC_DIR=%s;PETSC_ARCH=%s' % (found['PETSC_DIR'], arch))


if __name__ == '__main__':
    main()
