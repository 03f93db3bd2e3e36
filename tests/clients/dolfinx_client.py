"""-div(k grad u) = f on triangles with DOLFINx, the solver from PETSc's options database. It knows nothing of Tessera.

Prints the iterations, the reason and the error against the solution sin(3 x) cos(2 y).
"""
import numpy as np
import ufl
from dolfinx import fem, mesh
from mpi4py import MPI
from petsc4py import PETSc

domain = mesh.create_unit_square(MPI.COMM_WORLD, 60, 50)
V = fem.FunctionSpace(domain, ('CG', 1))
x = ufl.SpatialCoordinate(domain)
k = 1 + x[0] * x[1]
exact = ufl.sin(3 * x[0]) * ufl.cos(2 * x[1])
boundary = fem.Function(V)
boundary.interpolate(lambda p: np.sin(3 * p[0]) * np.cos(2 * p[1]))
edge = mesh.locate_entities_boundary(domain, 1, lambda p: np.isclose(p[0], 0) | np.isclose(p[0], 1) | np.isclose(p[1], 0) | np.isclose(p[1], 1))
bc = fem.dirichletbc(boundary, fem.locate_dofs_topological(V, 1, edge))
u, v = ufl.TrialFunction(V), ufl.TestFunction(V)
a = fem.form(k * ufl.dot(ufl.grad(u), ufl.grad(v)) * ufl.dx)
L = fem.form(-ufl.div(k * ufl.grad(exact)) * v * ufl.dx)
A = fem.petsc.assemble_matrix(a, bcs=[bc])
A.assemble()
b = fem.petsc.assemble_vector(L)
fem.petsc.apply_lifting(b, [a], bcs=[[bc]])
b.ghostUpdate(addv=PETSc.InsertMode.ADD, mode=PETSc.ScatterMode.REVERSE)
fem.petsc.set_bc(b, [bc])
solver = PETSc.KSP().create(domain.comm)
solver.setOperators(A)
solver.setFromOptions()
w = fem.Function(V)
solver.solve(b, w.vector)
w.x.scatter_forward()
error = domain.comm.allreduce(fem.assemble_scalar(fem.form((w - exact) ** 2 * ufl.dx))) ** 0.5
if domain.comm.rank == 0:
    print('%s: %d iterations, reason %d, error %.2e' % (solver.getPC().getType(), solver.getIterationNumber(), solver.getConvergedReason(), error))
