"""Tessera's solvers in petsc4py.

``import tessera`` adds the types to the PETSc of petsc4py, whether that is initialized already or only later; then
``pc.setType('rrb')`` and options choose them. What options cannot say stands in ``tessera.functions``: each function of
tessera.h under its name in C, whose outputs it returns.
"""

from .functions import *  # noqa: F401,F403
from .lcp import lcp_solve_batch as lcp_solve_batch
from .plugin import include as include, load, options as options, path as path

load()
