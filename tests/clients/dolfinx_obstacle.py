"""A membrane between two walls on triangles that DOLFINx has refined, by the SNES of the options and by vinewtonrsls (-ref_...).

It knows nothing of Tessera. The walls meet at the boundary, where they cross by as much as rounding makes of one value that is computed in
two ways.
"""
import numpy as np
import ufl
from dolfinx import fem, mesh
from mpi4py import MPI
from petsc4py import PETSc

domain = mesh.create_unit_square(MPI.COMM_WORLD, 12, 12, diagonal=mesh.DiagonalType.crossed)
for width in (0.3, 0.15, 0.08):
    domain.topology.create_entities(1)
    domain = mesh.refine(domain, mesh.locate_entities(domain, 1, lambda x: np.hypot(x[0] - 0.4, x[1] - 0.3) < width))
V = fem.FunctionSpace(domain, ('CG', 1))
x = ufl.SpatialCoordinate(domain)
lower, upper, u = fem.Function(V), fem.Function(V), fem.Function(V)
lower.interpolate(lambda x: -np.minimum(np.minimum(x[0], 1 - x[0]), np.minimum(x[1], 1 - x[1])))
upper.interpolate(lambda x: x[0] * (1 - x[0]) * x[1] * (1 - x[1]) * 4 - 1e-18)
v = ufl.TestFunction(V)
force = 60 * ufl.sin(3 * ufl.pi * x[0]) * ufl.sin(2 * ufl.pi * x[1])
F = (1 + x[0]) * ufl.dot(ufl.grad(u), ufl.grad(v)) * ufl.dx - force * v * ufl.dx
domain.topology.create_connectivity(1, 2)
bc = fem.dirichletbc(PETSc.ScalarType(0), fem.locate_dofs_topological(V, 1, mesh.exterior_facet_indices(domain.topology)), V)
residual, jacobian = fem.form(F), fem.form(ufl.derivative(F, u))


def function(snes, x, f):
    x.copy(u.vector)
    u.x.scatter_forward()
    with f.localForm() as local:
        local.set(0)
    fem.petsc.assemble_vector(f, residual)
    fem.petsc.apply_lifting(f, [jacobian], [[bc]], [u.vector], -1.0)
    f.ghostUpdate(addv=PETSc.InsertMode.ADD, mode=PETSc.ScatterMode.REVERSE)
    fem.petsc.set_bc(f, [bc], x, -1.0)


def matrix(snes, x, J, P):
    P.zeroEntries()
    fem.petsc.assemble_matrix(P, jacobian, [bc])
    P.assemble()


results = []
for prefix in ('', 'ref_'):
    snes = PETSc.SNES().create(domain.comm)
    snes.setOptionsPrefix(prefix)
    snes.setFunction(function, fem.petsc.create_vector(residual))
    snes.setJacobian(matrix, fem.petsc.create_matrix(jacobian))
    snes.setVariableBounds(lower.vector, upper.vector)
    snes.setType('vinewtonrsls')
    snes.setFromOptions()
    w = fem.Function(V)
    snes.solve(None, w.vector)
    at = [np.abs(w.vector.array_r - b.vector.array_r) < 1e-12 for b in (lower, upper)]
    results.append((w, at, snes.getType(), snes.getConvergedReason(), snes.getLinearSolveIterations()))
w, at, kind, reason, cycles = results[0]
others = domain.comm.allreduce(int(sum((a != b).sum() for a, b in zip(at, results[1][1]))))
active = domain.comm.allreduce(int(sum(a.sum() for a in at)))
z = results[1][0].vector
z.axpy(-1, w.vector)
apart = z.norm() / w.vector.norm()
if domain.comm.rank == 0:
    print('%s: reason %d, %d cycles, %.1e from vinewtonrsls, %d of %d unknowns at a bound in one alone' % (kind, reason, cycles, apart, others, active))
