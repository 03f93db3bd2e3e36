#!/usr/bin/python3
"""Brittle fracture of a notched plate by a phase field (AT2), an ordinary petsc4py program.

    PETSC_OPTIONS="-dll_append $(make -s print-lib)" /usr/bin/python3 examples/fracture/fracture.py -snes_type vipmg
    /usr/bin/python3 examples/fracture/fracture.py -snes_type vinewtonrsls -ksp_type cg -pc_type hypre

The energy

    1/2 int ((1 - d)^2 + k) sigma(u) : epsilon(u) + Gc/2 int (d^2 / l + l |grad d|^2)

of the displacement u and the damage d is minimized for each load by turns: u for given d is a system of linear elasticity, d for given u
a variational inequality, as damage does not heal: d >= d of the load before, d <= 1. Piecewise linear elements, lumped mass. The plate
is a square of 1 mm with a notch from the left to its middle, of steel; its upper side is pulled upwards.

Options: -nodes n (about so many), -loads n, -most u (mm), -turns n (at most), -tolerance t (of the damage), -output name (name.csv and
name.png), and those of the SNES of the damage; -elastic_... are those of the KSP of the displacement.
"""
import sys
import time

import petsc4py

petsc4py.init(sys.argv)

import numpy as np
from petsc4py import PETSc
from scipy.sparse import coo_matrix
from scipy.spatial import Delaunay

OPTIONS = PETSc.Options()
NODES = OPTIONS.getInt('nodes', 20000)
LOADS = OPTIONS.getInt('loads', 50)
MOST = OPTIONS.getReal('most', 0.0065)
TURNS = OPTIONS.getInt('turns', 40)
TOLERANCE = OPTIONS.getReal('tolerance', 1e-3)
OUTPUT = OPTIONS.getString('output', '')
E, NU, GC, REST = 210.0, 0.3, 2.7e-3, 1e-6  # kN/mm^2, 1, kN/mm, 1
LAMBDA, MU = E * NU / ((1 + NU) * (1 - 2 * NU)), E / (2 * (1 + NU))


def mesh(nodes):
    """Rows of nodes whose distance grows from the height of the notch, a strip around which is fine."""
    fine = 0.5 / np.sqrt(nodes)  # half the mean distance, in a third of the plate
    y, rows = 0.5, []
    while y < 1 - 0.6 * fine:
        rows.append(y)
        y += fine * (1 if y < 0.6 else 1 + 12 * (y - 0.6))
    rows = np.array(rows[1:] + [1.0])
    rows = np.concatenate([1 - rows[::-1], [0.5], rows])
    points = []
    rng = np.random.default_rng(1)
    for k, y in enumerate(rows):
        gap = rows[min(k + 1, len(rows) - 1)] - rows[max(k - 1, 0)]
        h = max(gap / 2 if 0 < k < len(rows) - 1 else gap, fine)
        n = int(np.ceil(1 / h))
        x = (np.arange(n + 1) + (0.5 * (k % 2) if n else 0)) / n
        x = np.unique(np.concatenate([[0.0], x[(x > 0.3 / n) & (x < 1 - 0.3 / n)], [1.0]]))
        jitter = np.where((x > 0) & (x < 1), rng.uniform(-0.1, 0.1, len(x)) / n, 0)
        points.append(np.stack([x + jitter, np.full(len(x), y)], 1))
    x = np.concatenate(points)
    t = Delaunay(x).simplices
    middle = x[t].mean(1)
    t = t[~((middle[:, 0] < 0.5) & (np.abs(middle[:, 1] - 0.5) < 1.01 * fine))]  # the notch
    used = np.unique(t)
    number = np.full(len(x), -1)
    number[used] = np.arange(len(used))
    return x[used], number[t], fine


class Elements:
    """Areas, gradients and places in matrices of linear triangles."""

    def __init__(self, x, t):
        a, b, c = x[t[:, 0]], x[t[:, 1]], x[t[:, 2]]
        twice = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
        edges = np.stack([c - b, a - c, b - a], 1)
        self.x, self.t, self.area = x, t, np.abs(twice) / 2
        self.g = np.stack([-edges[:, :, 1], edges[:, :, 0]], 2) / twice[:, None, None]

    def mass(self, values=1.0):  # lumped
        return np.bincount(self.t.ravel(), np.repeat(self.area / 3 * values, 3), len(self.x))

    def strain(self, u):
        du = np.einsum('tai,taj->tij', u[self.t], self.g)
        return (du + du.transpose(0, 2, 1)) / 2


class Matrix:
    """A PETSc matrix whose entries are sums of elements'; the pattern is found once. fixed: rows and columns of the identity."""

    def __init__(self, rows, cols, n, fixed, bs):
        self.free = ~fixed[rows] & ~fixed[cols]
        places = coo_matrix((np.ones(self.free.sum()), (rows[self.free], cols[self.free])), (n, n)).tocsr()
        places = places + coo_matrix((np.ones(n), (np.arange(n), np.arange(n))), (n, n)).tocsr()
        places.sort_indices()
        self.n, self.bs, self.indptr, self.indices = n, bs, places.indptr.astype(PETSc.IntType), places.indices.astype(PETSc.IntType)
        key = np.repeat(np.arange(n, dtype=np.int64), np.diff(places.indptr)) * n + places.indices
        self.at = np.searchsorted(key, rows[self.free].astype(np.int64) * n + cols[self.free])
        self.diagonal = np.searchsorted(key, np.arange(n, dtype=np.int64) * (n + 1))
        self.fixed = fixed
        self.A = PETSc.Mat().createAIJ((n, n), bsize=bs, csr=(self.indptr, self.indices, np.zeros(len(self.indices))))

    def fill(self, values, diagonal=None):
        a = np.bincount(self.at, values.ravel()[self.free], len(self.indices))
        if diagonal is not None:
            a[self.diagonal] += diagonal
        a[self.diagonal[self.fixed]] = 1
        self.A.setValuesCSR(self.indptr, self.indices, a)
        self.A.assemble()
        return self.A


class Displacement:
    """Linear elasticity with the stiffness of each element reduced by damage."""

    def __init__(self, e):
        self.e, n = e, len(e.x)
        dofs = 2 * e.t[:, :, None] + np.arange(2)
        dofs = dofs.reshape(-1, 6)
        self.rows, self.cols = np.repeat(dofs, 6, 1).ravel(), np.tile(dofs, (1, 6)).ravel()
        self.dofs = dofs
        top, bottom = e.x[:, 1] > 1 - 1e-9, e.x[:, 1] < 1e-9
        self.fixed = np.zeros((n, 2), bool)
        self.fixed[top | bottom] = True
        self.unit = np.zeros((n, 2))
        self.unit[top, 1] = 1
        self.matrix = Matrix(self.rows, self.cols, 2 * n, self.fixed.ravel(), 2)
        g = e.g
        k = LAMBDA * np.einsum('tai,tbj->taibj', g, g) + MU * np.einsum('taj,tbi->taibj', g, g)
        k += MU * np.einsum('tak,tbk,ij->taibj', g, g, np.eye(2))
        self.k = (k * e.area[:, None, None, None, None]).reshape(-1, 6, 6)
        self.ksp = PETSc.KSP().create()
        self.ksp.setOptionsPrefix('elastic_')
        self.ksp.setType('preonly')
        self.ksp.getPC().setType('cholesky')
        self.ksp.setTolerances(rtol=1e-8)
        self.ksp.setFromOptions()
        if self.ksp.getPC().getType() not in ('cholesky', 'lu'):
            self.ksp.getPC().setCoordinates(e.x)
        self.x, self.b = self.matrix.A.createVecs()

    def solve(self, d, load):
        stiff = ((1 - d[self.e.t]) ** 2).mean(1) + REST
        k = self.k * stiff[:, None, None]
        known = (self.unit * load).ravel()
        force = -np.bincount(self.dofs.ravel(), np.einsum('tij,tj->ti', k, known[self.dofs]).ravel(), len(known))
        force[self.fixed.ravel()] = known[self.fixed.ravel()]
        self.b.array[:] = force
        self.ksp.setOperators(self.matrix.fill(k))
        self.ksp.setInitialGuessNonzero(self.ksp.getType() != 'preonly')
        self.ksp.solve(self.b, self.x)
        u = self.x.array.reshape(-1, 2).copy()
        strain = self.e.strain(u)
        trace = np.trace(strain, axis1=1, axis2=2)
        density = LAMBDA / 2 * trace ** 2 + MU * (strain ** 2).sum((1, 2))
        return u, density, float((stiff * density * self.e.area).sum())


class Damage:
    """(2 psi + Gc / l) d - Gc l Laplace d = 2 psi between the bounds d_old and 1."""

    def __init__(self, e, length):
        self.e, self.length, n = e, length, len(e.x)
        self.matrix = Matrix(np.repeat(e.t, 3, 1).ravel(), np.tile(e.t, (1, 3)).ravel(), n, np.zeros(n, bool), 1)
        self.k = GC * length * np.einsum('tai,tbi->tab', e.g, e.g) * e.area[:, None, None]
        self.d, self.b = self.matrix.A.createVecs()
        self.lower, self.upper = self.d.duplicate(), self.d.duplicate()
        self.lower.set(0)
        self.upper.set(1)
        self.snes = PETSc.SNES().create()
        self.snes.setFunction(self.function, self.d.duplicate())
        self.snes.setJacobian(lambda *_: None, self.matrix.A, self.matrix.A)
        self.snes.setType('vinewtonrsls')
        self.snes.setVariableBounds(self.lower, self.upper)
        self.snes.setTolerances(rtol=1e-8, atol=1e-12)
        self.snes.setFromOptions()
        self.snes.getKSP().getPC().setCoordinates(e.x)
        self.spent, self.solves, self.most, self.newton, self.linear = 0.0, 0, 0, 0, 0

    def function(self, _, d, f):
        self.matrix.A.mult(d, f)
        f.axpy(-1, self.b)

    def solve(self, density):
        driving = 2 * self.e.mass(density)
        self.matrix.fill(self.k, driving + GC / self.length * self.e.mass())
        self.b.array[:] = driving
        start = time.process_time()
        self.snes.solve(None, self.d)
        self.spent += time.process_time() - start
        if self.snes.getConvergedReason() < 0:
            raise SystemExit('the damage has not converged: reason %d' % self.snes.getConvergedReason())
        its = self.snes.getLinearSolveIterations()
        self.solves += 1
        self.newton += self.snes.getIterationNumber()
        self.linear += its
        self.most = max(self.most, its)
        return self.d.array.copy()

    def energy(self, d):
        dd = np.einsum('ta,tai->ti', d[self.e.t], self.e.g)
        return float(GC / 2 * ((self.e.mass() * d ** 2).sum() / self.length + self.length * ((dd ** 2).sum(1) * self.e.area).sum()))


def draw(name, e, d, u, rows):
    import matplotlib
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4))
    at = e.x + 15 * u
    image = left.tripcolor(at[:, 0], at[:, 1], e.t, d, shading='gouraud', cmap='inferno', vmin=0, vmax=1)
    figure.colorbar(image, ax=left, label='damage')
    left.set_aspect('equal')
    left.set_title('the crack (displacement 15-fold)')
    load, elastic, surface = np.array(rows).T[:3]
    right.plot(1e3 * load, 1e3 * elastic, label='elastic energy')
    right.plot(1e3 * load, 1e3 * surface, label='energy of the crack')
    right.plot(1e3 * load, 1e3 * (elastic + surface), label='sum', color='gray', lw=0.8)
    right.set_xlabel('displacement of the upper side [1e-3 mm]')
    right.set_ylabel('energy [J]')
    right.legend()
    figure.tight_layout()
    figure.savefig(name, dpi=110)


def main():
    x, t, fine = mesh(NODES)
    e = Elements(x, t)
    length = max(2.5 * fine, 0.0075)
    displacement, damage = Displacement(e), Damage(e, length)
    d, u, rows = np.zeros(len(x)), np.zeros_like(x), []
    print('%d nodes, %d triangles, l = %.4g mm, mesh size at the crack %.4g mm, damage by %s' % (len(x), len(t), length, fine, damage.snes.getType()))
    for k in range(1, LOADS + 1):
        load = MOST * k / LOADS
        damage.lower.array[:] = np.minimum(d, 1)
        for turn in range(1, TURNS + 1):
            u, density, elastic = displacement.solve(d, load)
            before, d = d, damage.solve(density)
            change = np.abs(d - before).max()
            if change < TOLERANCE:
                break
        if (d < damage.lower.array).any():
            raise SystemExit('damage has healed')
        rows.append((load, elastic, damage.energy(d), turn))
        print('load %2d: %.3e mm, energy elastic %.4e crack %.4e, %2d turns, largest damage %.3f' % (k, load, elastic, rows[-1][2], turn, d.max()), flush=True)
    print('damage: %d solves, %d Newton iterations, %d linear iterations or cycles (at most %d in a solve), %.2f processor seconds' % (damage.solves, damage.newton, damage.linear, damage.most, damage.spent))
    if OUTPUT:
        np.savetxt(OUTPUT + '.csv', rows, header='load elastic crack turns')
        draw(OUTPUT + '.png', e, d, u, rows)


main()
