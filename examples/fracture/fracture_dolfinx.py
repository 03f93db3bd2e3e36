#!/usr/bin/python3
"""Brittle fracture of a plate with a notch and holes by a phase field (AT2): a DOLFINx program on a mesh of gmsh.

    export PETSC_OPTIONS="-dll_append $(make -s print-lib)"
    mpiexec -n 2 /usr/bin/python3 examples/fracture/fracture_dolfinx.py -snes_type vipmg
    /usr/bin/python3 examples/fracture/fracture_dolfinx.py -snes_type vinewtonrsls -ksp_type cg -pc_type hypre

The energy is that of fracture.py, with consistent masses and with the elements' own quadrature. It is minimized for each load by turns: the
displacement for given damage, a linear system, and the damage for given displacement, d >= d of the load before and d <= 1, a SNES. The
mesh is fine where the crack may go: between the notch and the holes, and to the right side.

Options: -fine h (mm, at the crack), -loads n, -most u (mm), -turns n (at most), -tolerance t (of the damage), -output name (name.xdmf);
those of the SNES of the damage; -elastic_... of the KSP of the displacement. -also a_,b_ solves every problem of the damage from the same
point with the options of these prefixes too (-a_snes_type ...), and compares.
"""
import sys
import time

import petsc4py

petsc4py.init(sys.argv)

import gmsh
import numpy as np
import ufl
from dolfinx import fem, io, mesh
from dolfinx.io import gmshio
from mpi4py import MPI
from petsc4py import PETSc

OPTIONS = PETSc.Options()
COMM = MPI.COMM_WORLD
FINE = OPTIONS.getReal('fine', 0.005)
LOADS = OPTIONS.getInt('loads', 50)
MOST = OPTIONS.getReal('most', 0.0065)
TURNS = OPTIONS.getInt('turns', 40)
TOLERANCE = OPTIONS.getReal('tolerance', 1e-3)
E, NU, GC, REST = 210.0, 0.3, 2.7e-3, 1e-6  # kN/mm^2, 1, kN/mm, 1
LAMBDA, MU = E * NU / ((1 + NU) * (1 - 2 * NU)), E / (2 * (1 + NU))
LENGTH = max(2.5 * FINE, 0.0075)


def report(*words):
    if COMM.rank == 0:
        print(*words, flush=True)


def plate():
    """A square of 1 mm with a notch from the left to its middle and two holes."""
    gmsh.initialize(['gmsh', '-v', '0'])
    if COMM.rank == 0:
        occ, field = gmsh.model.occ, gmsh.model.mesh.field
        whole = occ.addRectangle(0, 0, 0, 1, 1)
        out = [(2, occ.addRectangle(-0.1, 0.5 - FINE / 2, 0, 0.5, FINE))]
        out += [(2, occ.addDisk(x, y, 0, r, r)) for x, y, r in ((0.65, 0.43, 0.05), (0.8, 0.75, 0.1))]
        occ.cut([(2, whole)], out)
        occ.synchronize()
        gmsh.model.addPhysicalGroup(2, [tag for _, tag in gmsh.model.getEntities(2)])
        box = field.add('Box')
        for name, value in (('VIn', FINE), ('VOut', 10 * FINE), ('XMin', 0.35), ('XMax', 1), ('YMin', 0.38), ('YMax', 0.6), ('Thickness', 0.3)):
            field.setNumber(box, name, value)
        field.setAsBackgroundMesh(box)
        gmsh.option.setNumber('Mesh.MeshSizeExtendFromBoundary', 0)
        gmsh.model.mesh.generate(2)
    domain = gmshio.model_to_mesh(gmsh.model, COMM, 0, gdim=2)[0]
    gmsh.finalize()
    return domain


def strain(u):
    return ufl.sym(ufl.grad(u))


def density(u):
    return LAMBDA / 2 * ufl.tr(strain(u)) ** 2 + MU * ufl.inner(strain(u), strain(u))


class Displacement:
    """A linear system, whose matrix follows the damage."""

    def __init__(self, u, d):
        V, self.u = u.function_space, u
        v, w = ufl.TrialFunction(V), ufl.TestFunction(V)
        stiff = (1 - d) ** 2 + REST
        stress = LAMBDA * ufl.tr(strain(v)) * ufl.Identity(2) + 2 * MU * strain(v)
        self.a = fem.form(stiff * ufl.inner(stress, strain(w)) * ufl.dx)
        self.zero = fem.form(ufl.inner(fem.Constant(V.mesh, (0.0, 0.0)), w) * ufl.dx)
        self.energy = fem.form(stiff * density(u) * ufl.dx)
        self.top = fem.Function(V)
        self.bcs = []
        for y in (0.0, 1.0):
            facets = mesh.locate_entities_boundary(V.mesh, 1, lambda x: np.isclose(x[1], y))
            dofs = fem.locate_dofs_topological(V, 1, facets)
            self.bcs.append(fem.dirichletbc(self.top if y else fem.Function(V), dofs))
        self.A, self.b = fem.petsc.create_matrix(self.a), fem.petsc.create_vector(self.zero)
        self.ksp = PETSc.KSP().create(COMM)
        self.ksp.setOptionsPrefix('elastic_')
        self.ksp.setType('preonly')
        self.ksp.getPC().setType('lu')
        self.ksp.getPC().setFactorSolverType('mumps')
        self.ksp.setTolerances(rtol=1e-8)
        self.ksp.setOperators(self.A)
        self.ksp.setFromOptions()
        if self.ksp.getPC().getType() == 'auxamg':
            self.ksp.getPC().setCoordinates(places(V))

    def solve(self, load):
        self.top.interpolate(lambda x: np.stack([np.zeros(x.shape[1]), np.full(x.shape[1], load)]))
        self.A.zeroEntries()
        fem.petsc.assemble_matrix(self.A, self.a, self.bcs)
        self.A.assemble()
        with self.b.localForm() as local:
            local.set(0)
        fem.petsc.apply_lifting(self.b, [self.a], [self.bcs])
        self.b.ghostUpdate(addv=PETSc.InsertMode.ADD, mode=PETSc.ScatterMode.REVERSE)
        fem.petsc.set_bc(self.b, self.bcs)
        self.ksp.solve(self.b, self.u.vector)
        self.u.x.scatter_forward()


def places(V):
    return V.tabulate_dof_coordinates()[: V.dofmap.index_map.size_local, : V.mesh.geometry.dim]


class Damage:
    """Gc (d^2 / l + l |grad d|^2) / 2 + (1 - d)^2 density(u) between the bounds d_old and 1."""

    def __init__(self, d, u, prefixes):
        V, self.d = d.function_space, d
        w = ufl.TestFunction(V)
        self.surface = fem.form(GC / 2 * (d**2 / LENGTH + LENGTH * ufl.dot(ufl.grad(d), ufl.grad(d))) * ufl.dx)
        F = (GC * (d / LENGTH * w + LENGTH * ufl.dot(ufl.grad(d), ufl.grad(w))) - 2 * (1 - d) * density(u) * w) * ufl.dx
        self.F, self.J = fem.form(F), fem.form(ufl.derivative(F, d))
        self.A, self.b = fem.petsc.create_matrix(self.J), fem.petsc.create_vector(self.F)
        self.old, self.one, self.trial = fem.Function(V), fem.Function(V), fem.Function(V)
        self.one.x.array[:] = 1
        self.prefixes, self.solvers = prefixes, [self.solver(p) for p in prefixes]
        self.solves, self.spent = 0, np.zeros(len(prefixes))
        self.cycles, self.most = np.zeros(len(prefixes), int), np.zeros(len(prefixes), int)
        self.apart, self.others = 0.0, 0

    def solver(self, prefix):
        snes = PETSc.SNES().create(COMM)
        snes.setOptionsPrefix(prefix)
        snes.setFunction(self.residual, self.b)
        snes.setJacobian(self.jacobian, self.A)
        snes.setType('vinewtonrsls')
        snes.setVariableBounds(self.old.vector, self.one.vector)
        snes.setTolerances(rtol=1e-8, atol=1e-12)
        snes.setFromOptions()
        if snes.getType() == 'vipmg':
            snes.getKSP().getPC().setCoordinates(places(self.d.function_space))
        return snes

    def residual(self, snes, x, F):
        x.copy(self.d.vector)
        self.d.x.scatter_forward()
        with F.localForm() as local:
            local.set(0)
        fem.petsc.assemble_vector(F, self.F)
        F.ghostUpdate(addv=PETSc.InsertMode.ADD, mode=PETSc.ScatterMode.REVERSE)

    def jacobian(self, snes, x, J, P):
        J.zeroEntries()
        fem.petsc.assemble_matrix(J, self.J)
        J.assemble()

    def solve(self):
        begin, first = self.d.vector.copy(), None
        for k, snes in enumerate(self.solvers):
            x = self.trial.vector
            begin.copy(x)
            start = time.process_time()
            snes.solve(None, x)
            self.spent[k] += COMM.allreduce(time.process_time() - start)
            its = snes.getLinearSolveIterations()
            self.cycles[k] += its
            self.most[k] = max(self.most[k], its)
            if snes.getConvergedReason() < 0:
                raise SystemExit('%s: the damage has not converged: reason %d' % (self.prefixes[k], snes.getConvergedReason()))
            at = [np.abs(x.array_r - b.vector.array_r) < 1e-12 for b in (self.old, self.one)]
            if first is None:
                first = x.copy(), at
            else:
                self.others = max(self.others, COMM.allreduce(int(sum((a != b).sum() for a, b in zip(at, first[1])))))
                x.axpy(-1, first[0])
                self.apart = max(self.apart, x.norm() / first[0].norm())
        first[0].copy(self.d.vector)
        self.d.x.scatter_forward()
        self.solves += 1
        begin.axpy(-1, first[0])
        return begin.norm(PETSc.NormType.INFINITY)


def main():
    domain = plate()
    u = fem.Function(fem.VectorFunctionSpace(domain, ('CG', 1)))
    d = fem.Function(fem.FunctionSpace(domain, ('CG', 1)))
    prefixes = [''] + [p for p in OPTIONS.getString('also', '').split(',') if p]
    displacement, damage = Displacement(u, d), Damage(d, u, prefixes)
    report('%d nodes, l = %.4g mm, mesh size at the crack %.4g mm, damage by %s' % (d.function_space.dofmap.index_map.size_global, LENGTH, FINE, damage.solvers[0].getType()))
    for k in range(1, LOADS + 1):
        load = MOST * k / LOADS
        damage.old.x.array[:] = np.minimum(d.x.array, 1)
        for turn in range(1, TURNS + 1):
            displacement.solve(load)
            if damage.solve() < TOLERANCE:
                break
        elastic, crack = (COMM.allreduce(fem.assemble_scalar(form)) for form in (displacement.energy, damage.surface))
        most = d.vector.norm(PETSc.NormType.INFINITY)
        report('load %2d: %.3e mm, energy elastic %.4e crack %.4e, %2d turns, largest damage %.3f' % (k, load, elastic, crack, turn, most))
    for k, prefix in enumerate(prefixes):
        report('damage %s: %d solves, %d cycles or linear iterations (at most %d in a solve), %.2f processor seconds' % (prefix, damage.solves, damage.cycles[k], damage.most[k], damage.spent[k]))
    if len(prefixes) > 1:
        report('answers differ by %.1e of their norm at most, %d nodes at a bound in one alone' % (damage.apart, damage.others))
    if OPTIONS.getString('output', ''):
        d.name = 'damage'
        with io.XDMFFile(COMM, OPTIONS.getString('output', '') + '.xdmf', 'w') as file:
            file.write_mesh(domain)
            file.write_function(d)


main()
