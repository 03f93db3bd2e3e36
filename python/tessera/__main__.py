"""python -m tessera: what a command line wants to know of the package."""

import argparse

from . import include, options, path

parser = argparse.ArgumentParser(prog='python -m tessera', description=__doc__)
group = parser.add_mutually_exclusive_group(required=True)
for name, text, meaning in (
    ('--print-lib', path(), 'the path of the library'),
    ('--print-include', include(), 'the folder of tessera.h'),
    ('--print-options', options(), 'what PETSC_OPTIONS needs to load it'),
):
    group.add_argument(name, action='store_const', dest='text', const=text, help=meaning)
print(parser.parse_args().text)
