"""PC and KSP rrb, and PC auxamg, from Python. The plugin comes by PETSC_OPTIONS, or by the command line through petsc4py.init.

Prints `ok - text` and `not ok - text` lines and `done` at its end; tests/clients/run starts it on one and several ranks.
"""
import sys

import petsc4py

petsc4py.init(sys.argv)

import numpy as np
from petsc4py import PETSc

COMM = PETSc.COMM_WORLD


def check(ok, text, why=''):
    if COMM.rank == 0:
        print('%s - %s' % ('ok' if ok else 'not ok', text))
        if not ok and why:
            print('# %s' % (why,))
        sys.stdout.flush()


def dmda(nx, ny):
    return PETSc.DMDA().create(dim=2, sizes=(nx, ny), dof=1, stencil_width=1, stencil_type=PETSc.DMDA.StencilType.STAR, comm=COMM)


def fill(A, da, shift):
    """-div(k grad) + shift with Dirichlet sides outside the grid; k jumps by 10 along a line."""
    (nx, ny), ((i0, i1), (j0, j1)) = da.getSizes(), da.getRanges()
    k = lambda i, j: 10.0 if i + j > (nx + ny) // 2 else 1.0
    row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
    A.zeroEntries()
    for j in range(j0, j1):
        for i in range(i0, i1):
            row.index, diag = (i, j), shift
            for p, q in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                c = 0.5 * (k(i, j) + k(p, q))
                diag += c
                if 0 <= p < nx and 0 <= q < ny:
                    col.index = (p, q)
                    A.setValueStencil(row, col, -c)
            A.setValueStencil(row, row, diag)
    A.assemble()


def residual(A, x, b):
    r = b.duplicate()
    A.mult(x, r)
    r.aypx(-1, b)
    return r.norm() / b.norm()


da = dmda(45, 38)
A = da.createMatrix()
fill(A, da, 0.0)
b, x = da.createGlobalVec(), da.createGlobalVec()
(i0, i1), (j0, j1) = da.getRanges()
da.getVecArray(b)[:, :] = np.fromfunction(lambda i, j: np.sin(1.0 + i0 + i + 45 * (j0 + j)), (i1 - i0, j1 - j0))

ksp = PETSc.KSP().create(COMM)
ksp.setOptionsPrefix('wave_')
PETSc.Options()['wave_pc_rrb_levels'] = 6
ksp.setOperators(A)
ksp.setDM(da)
ksp.setDMActive(False)
ksp.setType('cg')
ksp.getPC().setType('rrb')
ksp.setTolerances(rtol=1e-9)
ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
ksp.setFromOptions()
ksp.solve(b, x)
first = ksp.getIterationNumber()
check(ksp.getConvergedReason() > 0 and residual(A, x, b) < 1e-8, 'cg + rrb with a prefix', (ksp.getConvergedReason(), residual(A, x, b)))
check(first <= 40, 'iterations', first)

# the same object with changed values, then the old values again: a refreshed factorisation, nothing stale
fill(A, da, 0.5)
ksp.solve(b, x)
second = ksp.getIterationNumber()
check(ksp.getConvergedReason() > 0 and residual(A, x, b) < 1e-8 and second <= first, 'second solve, changed values', (second, first, residual(A, x, b)))
fill(A, da, 0.0)
ksp.solve(b, x)
check(ksp.getIterationNumber() == first and residual(A, x, b) < 1e-8, 'third solve, first values again', (ksp.getIterationNumber(), first))

# the operator: linear, symmetric, positive, its own transpose; the input of apply untouched
pc = ksp.getPC()
rng = PETSc.Random().create(COMM)
u, v, mu, mv, w = (b.duplicate() for _ in range(5))
u.setRandom(rng)
v.setRandom(rng)
keep = u.copy()
pc.apply(u, mu)
pc.apply(v, mv)
scale = abs(u.dot(mu)) + abs(v.dot(mv))
check(u.equal(keep), 'apply leaves its input alone')
check(abs(v.dot(mu) - u.dot(mv)) <= 1e-12 * scale, 'symmetric', (v.dot(mu), u.dot(mv)))
check(u.dot(mu) > 0 and v.dot(mv) > 0, 'positive')
w.waxpy(-2.0, u, v)
z = b.duplicate()
pc.apply(w, z)
z.axpy(2.0, mu)
z.axpy(-1.0, mv)
check(z.norm() <= 1e-11 * (mu.norm() + mv.norm()), 'linear', z.norm())
pc.applyTranspose(u, z)
z.axpy(-1.0, mu)
check(z.norm() <= 1e-12 * mu.norm(), 'applytranspose', z.norm())
pc.apply(u, z)
z.axpy(-1.0, mu)
check(z.norm() == 0, 'the same result twice', z.norm())
if hasattr(pc, 'matApply'):
    n, N = b.getLocalSize(), b.getSize()
    X = PETSc.Mat().createDense(((n, N), (PETSc.DECIDE, 3)), comm=COMM)
    Y = PETSc.Mat().createDense(((n, N), (PETSc.DECIDE, 3)), comm=COMM)
    for M in (X, Y):
        M.setUp()
        M.assemble()
    X.getDenseArray()[:, 0] = u.getArray()
    X.getDenseArray()[:, 1] = v.getArray()
    X.getDenseArray()[:, 2] = w.getArray()
    X.assemble()
    pc.matApply(X, Y)
    d = max(np.abs(Y.getDenseArray()[:, 0] - mu.getArray()).max(initial=0), np.abs(Y.getDenseArray()[:, 1] - mv.getArray()).max(initial=0))
    check(d <= 1e-12 * mu.norm(PETSc.NormType.INFINITY) + 1e-12 * mv.norm(PETSc.NormType.INFINITY), 'matapply', d)

# M^-1 of a grid small enough for a dense look: symmetric and positive definite as a matrix
if COMM.size == 1:
    d2 = dmda(7, 6)
    A2 = d2.createMatrix()
    fill(A2, d2, 0.0)
    p2 = PETSc.PC().create(COMM)
    p2.setOperators(A2)
    p2.setDM(d2)
    p2.setType('rrb')
    p2.setUp()
    e, y = d2.createGlobalVec(), d2.createGlobalVec()
    M = np.empty((42, 42))
    for i in range(42):
        e.set(0)
        e[i] = 1
        e.assemble()
        p2.apply(e, y)
        M[:, i] = y.getArray()
    check(np.abs(M - M.T).max() < 1e-13 * np.abs(M).max() and np.linalg.eigvalsh(M).min() > 0, 'dense M^-1 is symmetric positive definite')
    A2.convert('dense')
    lam = np.sort(np.linalg.eigvals(M @ A2.getDenseArray()).real)
    check(0.5 < lam[0] and lam[-1] < 20, 'spectrum of M^-1 A', lam[[0, -1]])
    p2.destroy()

# reset, another size, KSP rrb
pc.reset()
ksp.reset()
d3 = dmda(20, 53)
A3 = d3.createMatrix()
fill(A3, d3, 0.1)
ksp.setDM(d3)
ksp.setDMActive(False)
ksp.setOperators(A3)
b3, x3 = d3.createGlobalVec(), d3.createGlobalVec()
b3.setRandom(rng)
ksp.solve(b3, x3)
check(ksp.getConvergedReason() > 0 and residual(A3, x3, b3) < 1e-8, 'after reset, another size', ksp.getConvergedReason())
k2 = PETSc.KSP().create(COMM)
k2.setOperators(A3)
k2.setDM(d3)
k2.setDMActive(False)
k2.setType('rrb')
k2.setTolerances(rtol=1e-9)
k2.setFromOptions()
x3.set(0)
k2.solve(b3, x3)
check(k2.getPC().getType() == 'rrb', 'KSP rrb sets its PC', k2.getPC().getType())
check(k2.getConvergedReason() > 0 and residual(A3, x3, b3) < 1e-6, 'KSP rrb', (k2.getConvergedReason(), residual(A3, x3, b3)))
fill(A3, d3, 0.9)  # no setOperators: the matrix's state alone says that its values are new
k2.solve(b3, x3)
check(k2.getConvergedReason() > 0 and residual(A3, x3, b3) < 1e-6, 'KSP rrb, changed values', (k2.getConvergedReason(), residual(A3, x3, b3)))
fill(A3, d3, 0.1)
k2.solve(b3, x3)
k2.reset()
k2.setOperators(A3)
k2.solve(b3, x3)
check(k2.getConvergedReason() > 0 and residual(A3, x3, b3) < 1e-6, 'KSP rrb after KSPReset', (k2.getConvergedReason(), residual(A3, x3, b3)))
x3.setRandom(rng)
k2.setInitialGuessNonzero(True)
k2.solve(b3, x3)
check(k2.getConvergedReason() > 0 and residual(A3, x3, b3) < 1e-6, 'KSP rrb from a random start', (k2.getConvergedReason(), residual(A3, x3, b3)))



def two_meshes(seed, n=25, m=15):
    """A grid with one spring to the ground and another that nothing ties to it or to the ground, and their nodes."""
    rng, total = np.random.default_rng(seed), n * n + m * m
    M, xy = PETSc.Mat().createAIJ([total, total], nnz=5, comm=PETSc.COMM_SELF), np.zeros((total, 2))
    for size, first, left in ((n, 0, 0.0), (m, n * n, n + 3.0)):
        for i in range(size):
            for j in range(size):
                p = first + i * size + j
                xy[p] = (left + i, j)
                for q in ([p + size] if i + 1 < size else []) + ([p + 1] if j + 1 < size else []):
                    k = 1 + 0.3 * rng.random()
                    M.setValues([p, q], [p, q], [k, -k, -k, k], addv=True)
    M.setValue(0, 0, 1.0, addv=True)
    M.assemble()
    return M, xy, rng.random(total)


# the constants of the loose grid are in the null space, and what rounding leaves of a residual there must stay small
PETSc.Options()['loose_pc_auxamg_precision'] = 'double'
for seed in (1, 2, 3):
    A5, xy, exact = two_meshes(seed)
    x5, b5 = A5.createVecs()
    x5.setArray(exact)
    A5.mult(x5, b5)
    k5 = PETSc.KSP().create(PETSc.COMM_SELF)
    k5.setOptionsPrefix('loose_')
    k5.setOperators(A5)
    k5.setType('cg')
    k5.setTolerances(rtol=1e-10, max_it=20)
    k5.getPC().setType('auxamg')
    k5.getPC().setCoordinates(xy)
    k5.setFromOptions()
    k5.solve(b5, x5)
    r5 = residual(A5, x5, b5)
    check(k5.getConvergedReason() > 0 and r5 < 1e-8, 'a part of the mesh that nothing ties, seed %d' % seed, (k5.getConvergedReason(), r5))

# a right-hand side that no solution has: least squares, whether the null space is attached or not; and a null space
# that is none of the matrix
for attached in (False, True):
    A6 = da.createMatrix()
    fill(A6, da, 0.0)
    ones6 = da.createGlobalVec()
    ones6.set(1.0)
    sums = da.createGlobalVec()
    A6.mult(ones6, sums)
    sums.scale(-1)
    A6.setDiagonal(A6.getDiagonal() + sums)
    if attached:
        A6.setNullSpace(PETSc.NullSpace().create(constant=True, comm=COMM))
    k6 = PETSc.KSP().create(COMM)
    k6.setOperators(A6)
    k6.setDM(da)
    k6.setDMActive(False)
    k6.setType('rrb')
    k6.setTolerances(rtol=1e-9)
    b6 = b.copy()
    b6.shift(0.5)
    k6.solve(b6, x)
    mean = abs(b6.sum()) / b6.getSize() ** 0.5 / b6.norm()
    found = residual(A6, x, b6)
    check(k6.getConvergedReason() > 0 and mean > 0.1 and abs(found - mean) < 1e-6, 'KSP rrb, no solution: least squares, null space attached: %s' % attached, (k6.getConvergedReason(), found, mean))
    if not attached:  # attaching does not change the matrix's state, and the solution has nothing of the null space then
        A6.setNullSpace(PETSc.NullSpace().create(constant=True, comm=COMM))
        k6.solve(b6, x)
        check(k6.getConvergedReason() > 0 and abs(x.sum()) < 1e-8 * x.norm(), 'KSP rrb: a null space that is attached after a solve', (k6.getConvergedReason(), x.sum(), x.norm()))
A7 = da.createMatrix()
fill(A7, da, 0.0)
A7.setNullSpace(PETSc.NullSpace().create(constant=True, comm=COMM))
k7 = PETSc.KSP().create(COMM)
k7.setOperators(A7)
k7.setDM(da)
k7.setDMActive(False)
k7.setType('rrb')
k7.solve(b, x)
check(k7.getConvergedReason() > 0 and residual(A7, x, b) < 1e-4, 'KSP rrb: a null space that is none of the matrix is ignored', (k7.getConvergedReason(), residual(A7, x, b)))

# coordinates from some of the processes: from those with rows that is enough, else all raise an error
for everywhere in (False, True):
    n = 12
    rows = n * n if COMM.rank == 0 or everywhere else 0
    A8 = PETSc.Mat().createAIJ(((rows, None), (rows, None)), nnz=5, comm=COMM)
    first, end = A8.getOwnershipRange()
    for p in range(first, end):
        i, j = (p - first) // n, (p - first) % n
        for q, inside in ((p - n, i > 0), (p + n, i + 1 < n), (p - 1, j > 0), (p + 1, j + 1 < n)):
            if inside:
                A8.setValue(p, q, -1.0)
        A8.setValue(p, p, 4.0)
    A8.assemble()
    x8, b8 = A8.createVecs()
    b8.set(1.0)
    k8 = PETSc.KSP().create(COMM)
    k8.setOperators(A8)
    k8.setType('cg')
    k8.getPC().setType('auxamg')
    if COMM.rank == 0:
        k8.getPC().setCoordinates([[(p - first) // n, (p - first) % n] for p in range(first, end)])
    try:
        k8.solve(b8, x8)
        outcome = k8.getConvergedReason() > 0
    except PETSc.Error:
        outcome = 'error'
    wanted = 'error' if everywhere and COMM.size > 1 else True
    check(outcome == wanted, 'PC auxamg: coordinates from the first process, rows %s' % ('everywhere' if everywhere else 'there alone'), outcome)

# heat in space, in an implicit TS: a product of sines decays by 1 / (1 + dt lambda) a step
n9 = (4, 15, 22)
d9 = PETSc.DMDA().create(dim=3, sizes=n9, dof=1, stencil_width=1, stencil_type=PETSc.DMDA.StencilType.STAR, comm=COMM)
A9, J9 = d9.createMatrix(), d9.createMatrix()
row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
(i0, i1), (j0, j1), (k0, k1) = d9.getRanges()
for k in range(k0, k1):
    for j in range(j0, j1):
        for i in range(i0, i1):
            row.index = (i, j, k)
            A9.setValueStencil(row, row, 6.0)
            for d in range(3):
                for side in (-1, 1):
                    at = [i, j, k]
                    at[d] += side
                    if 0 <= at[d] < n9[d]:
                        col.index = tuple(at)
                        A9.setValueStencil(row, col, -1.0)
A9.assemble()
u9 = d9.createGlobalVec()
sines = [np.sin(np.pi * np.arange(lo + 1, hi + 1) / (n + 1)) for n, (lo, hi) in zip(n9, d9.getRanges())]
d9.getVecArray(u9)[:, :, :] = sines[0][:, None, None] * sines[1][None, :, None] * sines[2][None, None, :]
wanted = u9.copy()


def function(ts, t, u, udot, f):
    A9.mult(u, f)
    f.axpy(1.0, udot)


def jacobian(ts, t, u, udot, shift, J, P):
    A9.copy(P, structure=PETSc.Mat.Structure.SAME_NONZERO_PATTERN)
    P.shift(shift)


ts9 = PETSc.TS().create(COMM)
ts9.setOptionsPrefix('heat_')
ts9.setDM(d9)
ts9.setType('beuler')
ts9.setProblemType(PETSc.TS.ProblemType.LINEAR)
ts9.setIFunction(function, d9.createGlobalVec())
ts9.setIJacobian(jacobian, J9, J9)
ts9.setTimeStep(0.5)
ts9.setMaxSteps(4)
ts9.setMaxTime(100.0)
ts9.setExactFinalTime(PETSc.TS.ExactFinalTime.STEPOVER)
k9 = ts9.getSNES().getKSP()
k9.setType('rrb')
k9.setTolerances(rtol=1e-10)
k9.getPC().setType('rrb')
ts9.solve(u9)
growth = sum(2 - 2 * np.cos(np.pi / (n + 1)) for n in n9)
wanted.scale((1 + 0.5 * growth)**-4)
wanted.axpy(-1.0, u9)
check(wanted.norm() < 1e-8 * u9.norm() and ts9.getKSPIterations() <= 28, 'heat in space: KSP rrb in a TS', (wanted.norm() / u9.norm(), ts9.getKSPIterations()))

# an error comes as a Python exception on every rank and leaves the interpreter alive
d4 = PETSc.DMDA().create(dim=2, sizes=(8, 8), dof=2, stencil_width=1, comm=COMM)
A4 = d4.createMatrix()
ones = d4.createGlobalVec()
ones.set(1.0)
A4.setDiagonal(ones)
A4.assemble()
p4 = PETSc.PC().create(COMM)
p4.setOperators(A4)
p4.setDM(d4)
p4.setType('rrb')
try:
    p4.setUp()
    raised = False
except PETSc.Error:
    raised = True
check(raised, 'dof 2 raises PETSc.Error')
if COMM.rank == 0:
    print('done')
