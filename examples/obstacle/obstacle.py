#!/usr/bin/python3
"""A membrane pressed on obstacles: a DOLFINx program, on a mesh of gmsh or one that DOLFINx has refined.

    export PETSC_OPTIONS="-dll_append $(make -s print-lib)"
    mpiexec -n 2 /usr/bin/python3 examples/obstacle/obstacle.py -snes_type vipmg
    /usr/bin/python3 examples/obstacle/obstacle.py -snes_type vinewtonrsls -pc_type lu -pc_factor_mat_solver_type mumps

The displacement u is zero at the boundary and minimizes the energy int (k/2 |grad u|^2 - f u) where lower < u < upper.
  obstacle  a membrane is pressed on a ball and two pillars
  torsion   u is below the distance to the sides of the square or cube: a bar that is twisted until it flows
  sides     a load of both signs between two walls

Options: -problem, -mesh refined|holes|cube, -size n (nodes along a side), -levels n (local refinements), -degree 1|2; those of the SNES.
-also a_,b_ solves with the options of these prefixes as well (-a_snes_type ...) and compares.
"""
import sys
import time

import petsc4py

petsc4py.init(sys.argv)

import numpy as np
import ufl
from dolfinx import fem, mesh
from mpi4py import MPI
from petsc4py import PETSc

OPTIONS = PETSc.Options()
COMM = MPI.COMM_WORLD
PROBLEM = OPTIONS.getString('problem', 'obstacle')
SIZE, LEVELS = OPTIONS.getInt('size', 40), OPTIONS.getInt('levels', 4)


def report(*words):
    if COMM.rank == 0:
        print(*words, flush=True)


def refined():
    """Squares are refined where the obstacle of the first problem is touched: around a circle and at a corner."""
    domain = mesh.create_unit_square(COMM, SIZE, SIZE, diagonal=mesh.DiagonalType.crossed)
    for k in range(LEVELS):
        width = 0.5 ** (k + 1)

        def near(x):
            ring = np.abs(np.hypot(x[0] - 0.5, x[1] - 0.5) - 0.27)
            return (ring < 0.1 * width) | (np.hypot(x[0], x[1]) < width)

        domain.topology.create_entities(1)
        domain = mesh.refine(domain, mesh.locate_entities(domain, 1, near))
    return domain


def holes():
    """A square with holes of many sizes, graded to their edges."""
    import gmsh
    from dolfinx.io import gmshio

    gmsh.initialize(['gmsh', '-v', '0'])
    if COMM.rank == 0:
        occ, rng = gmsh.model.occ, np.random.default_rng(1)
        plate, disks = occ.addRectangle(0, 0, 0, 1, 1), []
        for i in range(3):
            for j in range(3):
                x, y = (np.array([i, j]) + 0.5 + rng.uniform(-0.15, 0.15, 2)) / 3
                disks.append((2, occ.addDisk(x, y, 0, *2 * [10 ** rng.uniform(-2.5, -1.1)])))
        occ.cut([(2, plate)], disks)
        occ.synchronize()
        gmsh.model.addPhysicalGroup(2, [tag for _, tag in gmsh.model.getEntities(2)])
        gmsh.option.setNumber('Mesh.MeshSizeFromCurvature', 60)
        gmsh.option.setNumber('Mesh.MeshSizeMax', 1 / SIZE)
        gmsh.model.mesh.generate(2)
    domain = gmshio.model_to_mesh(gmsh.model, COMM, 0, gdim=2)[0]
    gmsh.finalize()
    return domain


class Problem:
    """Residual and Jacobian as a SNES asks for them."""

    def __init__(self, V, bc, f):
        self.u, v = fem.Function(V), ufl.TestFunction(V)
        k = 1 + ufl.SpatialCoordinate(V.mesh)[0]
        F = k * ufl.dot(ufl.grad(self.u), ufl.grad(v)) * ufl.dx - f * v * ufl.dx
        self.F, self.J, self.bc = fem.form(F), fem.form(ufl.derivative(F, self.u)), bc
        self.matrix, self.vector = fem.petsc.create_matrix(self.J), fem.petsc.create_vector(self.F)

    def residual(self, snes, x, F):
        x.ghostUpdate(addv=PETSc.InsertMode.INSERT, mode=PETSc.ScatterMode.FORWARD)
        x.copy(self.u.vector)
        self.u.x.scatter_forward()
        with F.localForm() as local:
            local.set(0)
        fem.petsc.assemble_vector(F, self.F)
        fem.petsc.apply_lifting(F, [self.J], [[self.bc]], [x], -1.0)
        F.ghostUpdate(addv=PETSc.InsertMode.ADD, mode=PETSc.ScatterMode.REVERSE)
        fem.petsc.set_bc(F, [self.bc], x, -1.0)

    def jacobian(self, snes, x, J, P):
        J.zeroEntries()
        fem.petsc.assemble_matrix(J, self.J, [self.bc])
        J.assemble()


def solve(problem, V, lower, upper, prefix):
    snes = PETSc.SNES().create(COMM)
    snes.setOptionsPrefix(prefix)
    snes.setFunction(problem.residual, problem.vector)
    snes.setJacobian(problem.jacobian, problem.matrix)
    snes.setVariableBounds(lower.vector, upper.vector)
    snes.setTolerances(rtol=1e-8, max_it=500)
    snes.setType('vinewtonrsls')
    snes.setFromOptions()
    if snes.getType() == 'vipmg':  # where the unknowns are
        own, dim = V.dofmap.index_map.size_local, V.mesh.geometry.dim
        snes.getKSP().getPC().setCoordinates(V.tabulate_dof_coordinates()[:own, :dim])
    u = fem.Function(V)
    start = time.process_time()
    snes.solve(None, u.vector)
    spent = COMM.allreduce(time.process_time() - start)
    return u, snes.getConvergedReason(), snes.getIterationNumber(), snes.getLinearSolveIterations(), spent


def main():
    kind = OPTIONS.getString('mesh', 'refined')
    domain = {'refined': refined, 'holes': holes, 'cube': lambda: mesh.create_unit_cube(COMM, *3 * [SIZE])}[kind]()
    V = fem.FunctionSpace(domain, ('CG', OPTIONS.getInt('degree', 1)))
    x = ufl.SpatialCoordinate(domain)
    force = {'obstacle': -5.0, 'torsion': 5.0, 'sides': 60 * ufl.sin(3 * ufl.pi * x[0]) * ufl.sin(2 * ufl.pi * x[1])}[PROBLEM]
    tdim = domain.topology.dim
    domain.topology.create_connectivity(tdim - 1, tdim)
    edge = mesh.exterior_facet_indices(domain.topology)
    bc = fem.dirichletbc(PETSc.ScalarType(0), fem.locate_dofs_topological(V, tdim - 1, edge), V)
    lower, upper = fem.Function(V), fem.Function(V)
    distance = lambda x: np.minimum(x[:tdim], 1 - x[:tdim]).min(0)
    ball = lambda x: 0.25 - 1.5 * ((x[:tdim] - 0.5) ** 2).sum(0)
    pillars = lambda x: np.where((np.abs(x[0] - 0.3) < 0.02) & (np.abs(np.abs(x[1] - 0.5) - 0.3) < 0.02), -0.02, -1)
    upper.interpolate((lambda x: np.full(x.shape[1], PETSc.INFINITY)) if PROBLEM == 'obstacle' else distance)
    lower.interpolate(
        {
            'obstacle': lambda x: np.maximum(ball(x), pillars(x)),
            'torsion': lambda x: np.full(x.shape[1], PETSc.NINFINITY),
            'sides': lambda x: -distance(x),
        }[PROBLEM]
    )
    problem = Problem(V, bc, force)
    report('%s, %s: %d unknowns' % (PROBLEM, kind, V.dofmap.index_map.size_global))
    own, first = V.dofmap.index_map.size_local, None
    for prefix in [''] + [p for p in OPTIONS.getString('also', '').split(',') if p]:
        u, reason, newton, linear, spent = solve(problem, V, lower, upper, prefix)
        at = [np.abs(u.x.array[:own] - b.x.array[:own]) < 1e-12 for b in (lower, upper)]
        line = '%s: reason %d, %d iterations, %d cycles or linear iterations, %.2f processor seconds, %d unknowns at bounds'
        line %= (prefix or 'solve', reason, newton, linear, spent, COMM.allreduce(int(sum(a.sum() for a in at))))
        if first:
            apart = u.vector.copy()
            apart.axpy(-1, first[0].vector)
            others = COMM.allreduce(int(sum((a != b).sum() for a, b in zip(at, first[1]))))
            line += '; %.1e from the first one, %d at bounds in one alone' % (apart.norm() / u.vector.norm(), others)
        else:
            first = u, at
        report(line)
        if reason < 0:
            raise SystemExit('not solved')


main()
