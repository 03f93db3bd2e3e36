"""SNES vipmg from Python: the obstacle problem of a ball, chosen by option. As petsc4py_client.py."""
import sys

import petsc4py

petsc4py.init(sys.argv)

import numpy as np
from petsc4py import PETSc

COMM = PETSc.COMM_WORLD
N = 33
H = 4.0 / (N - 1)


def check(ok, text, why=''):
    if COMM.rank == 0:
        print('%s - %s' % ('ok' if ok else 'not ok', text))
        if not ok and why:
            print('# %s' % (why,))
        sys.stdout.flush()


def exact(x, y):
    r = np.maximum(np.hypot(x, y), 1e-12)
    return np.where(r <= 0.697965148223374, np.sqrt(np.maximum(1 - r * r, 0)), -0.680259411891719 * np.log(r) + 0.471519893402112)


def ball(x, y):
    r, r0 = np.hypot(x, y), 0.9
    p0 = np.sqrt(1 - r0 * r0)
    return np.where(r <= r0, np.sqrt(np.maximum(1 - r * r, 0)), p0 - r0 / p0 * (r - r0))


da = PETSc.DMDA().create(dim=2, sizes=(N, N), dof=1, stencil_width=1, stencil_type=PETSc.DMDA.StencilType.STAR, comm=COMM)
(i0, i1), (j0, j1) = da.getRanges()
(g0, g1), (h0, h1) = da.getGhostRanges()
X, Y = np.meshgrid(-2 + H * np.arange(g0, g1), -2 + H * np.arange(h0, h1), indexing='ij')
EDGE = (np.abs(X) > 2 - H / 2) | (np.abs(Y) > 2 - H / 2)
own = (slice(i0 - g0, i1 - g0), slice(j0 - h0, j1 - h0))


def function(snes, x, f):
    local = da.getLocalVec()
    da.globalToLocal(x, local)
    u = np.array(da.getVecArray(local)[g0:g1, h0:h1])
    v = np.where(EDGE, exact(X, Y), u)  # the data stand in for values on the edge
    r = 4 * v
    for axis in (0, 1):
        for step in (-1, 1):
            r -= np.roll(v, step, axis)  # what comes around is an edge, or a ghost of which nothing is asked
    da.getVecArray(f)[i0:i1, j0:j1] = np.where(EDGE, u - exact(X, Y), r)[own]
    da.restoreLocalVec(local)


def jacobian(snes, x, J, P):
    row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
    inside = lambda i, j: 0 < i < N - 1 and 0 < j < N - 1
    for j in range(j0, j1):
        for i in range(i0, i1):
            row.index = (i, j)
            P.setValueStencil(row, row, 4.0 if inside(i, j) else 1.0)
            for p, q in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if inside(i, j) and inside(p, q):
                    col.index = (p, q)
                    P.setValueStencil(row, col, -1.0)
    P.assemble()


lower, upper, x = da.createGlobalVec(), da.createGlobalVec(), da.createGlobalVec()
da.getVecArray(lower)[i0:i1, j0:j1] = ball(X, Y)[own]
upper.set(PETSc.INFINITY)


def solve(prefix, kind):
    snes = PETSc.SNES().create(COMM)
    snes.setOptionsPrefix(prefix)
    PETSc.Options()[prefix + 'snes_type'] = kind
    snes.setDM(da)
    snes.setFunction(function, da.createGlobalVec())
    A = da.createMatrix()
    snes.setJacobian(jacobian, A, A)
    snes.setTolerances(rtol=1e-9, stol=0)
    snes.setFromOptions()
    snes.setVariableBounds(lower, upper)
    return snes


snes = solve('ball_', 'vipmg')
x.set(0)
snes.solve(None, x)
check(snes.getType() == 'vipmg', 'the option chooses the type', snes.getType())
check(snes.getConvergedReason() > 0 and snes.getIterationNumber() <= 2 and snes.getLinearSolveIterations() <= 6, 'converged, in a few cycles',
      (snes.getConvergedReason(), snes.getIterationNumber(), snes.getLinearSolveIterations()))
error = x.duplicate()
da.getVecArray(error)[i0:i1, j0:j1] = (da.getVecArray(x)[i0:i1, j0:j1] - exact(X, Y)[own])
check(abs(error.norm(PETSc.NormType.INFINITY) - 5.747e-3) < 1e-5, 'the error of the discrete solution is the published one', error.norm(PETSc.NormType.INFINITY))
below = lower.copy()
below.axpy(-1, x)
check(below.max()[1] <= 0, 'no value is below its bound', below.max()[1])

reference = solve('reference_', 'vinewtonrsls')
y = x.duplicate()
y.set(0)
reference.solve(None, y)
y.axpy(-1, x)
check(reference.getConvergedReason() > 0 and y.norm(PETSc.NormType.INFINITY) < 1e-7, "vinewtonrsls' solution", (reference.getConvergedReason(), y.norm(PETSc.NormType.INFINITY)))

# the same object from another start
first = snes.getLinearSolveIterations()
y.set(5)
snes.solve(None, y)
y.axpy(-1, x)
check(snes.getConvergedReason() > 0 and y.norm(PETSc.NormType.INFINITY) < 1e-7, 'again, from above', (first, snes.getLinearSolveIterations(), y.norm(PETSc.NormType.INFINITY)))

# an error comes as an exception on all processes, and the interpreter lives
upper.set(-10)
try:
    snes.solve(None, x)
    raised = False
except PETSc.Error:
    raised = True
check(raised, 'crossed bounds raise PETSc.Error')
upper.set(PETSc.INFINITY)
snes = solve('after_', 'vipmg')
x.set(0)
snes.solve(None, x)
check(snes.getConvergedReason() > 0, 'a solve after the error', snes.getConvergedReason())
if COMM.rank == 0:
    print('done')
