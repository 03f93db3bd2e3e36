"""A membrane that hangs over hills: an obstacle problem by SNES vipmg, and its picture.

    python3 examples/python/membrane.py [picture.png] [-n 257] [options of PETSc]

div(grad u) = f where the membrane hangs freely, u >= the hills everywhere, u = 1 on the edge of the unit square.
"""

import sys

import petsc4py

arguments = sys.argv[1:2] if sys.argv[1:2] and not sys.argv[1].startswith('-') else []
petsc4py.init(sys.argv)
import numpy as np
import tessera
from petsc4py import PETSc

n = PETSc.Options().getInt('n', 257)
h, weight = 1 / (n - 1), 25.0
x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing='ij')
hills = sum(
    a * np.exp(-((x - p) ** 2 + (y - q) ** 2) / w)
    for a, p, q, w in ((0.9, 0.3, 0.35, 0.02), (0.8, 0.7, 0.6, 0.04), (0.7, 0.3, 0.8, 0.015), (0.75, 0.75, 0.2, 0.01))
)
edge = (x == 0) | (x == 1) | (y == 0) | (y == 1)

grid = PETSc.DMDA().create([n, n], stencil_width=1, comm=PETSc.COMM_SELF)


def field(vector):
    return vector.getArray(readonly=True).reshape(n, n, order='F')


def function(snes, vector, out):
    u = field(vector)
    v = np.where(edge, 1, u)
    r = 4 * v - np.roll(v, 1, 0) - np.roll(v, -1, 0) - np.roll(v, 1, 1) - np.roll(v, -1, 1) + h * h * weight
    out.array[:] = np.where(edge, u - 1, r).ravel(order='F')


def jacobian(snes, vector, J, P):
    number = np.arange(n * n).reshape(n, n, order='F')
    inside = ~edge
    for di, dj in ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)):
        near = np.roll(number, (-di, -dj), (0, 1))
        both = inside & ~np.roll(edge, (-di, -dj), (0, 1)) if (di, dj) != (0, 0) else np.full((n, n), True)
        for row, column, own in zip(number[both], near[both], edge[both]):
            P.setValue(row, column, 1.0 if own else 4.0 if row == column else -1.0)
    P.assemble()


u, lower, upper = (grid.createGlobalVec() for _ in range(3))
lower.array[:] = np.where(edge, 1, hills).ravel(order='F')
upper.set(PETSc.INFINITY)
u.set(1)
snes = PETSc.SNES().create(PETSc.COMM_SELF)
snes.setDM(grid)
matrix = grid.createMat()
snes.setFunction(function, u.duplicate())
snes.setJacobian(jacobian, matrix, matrix)
snes.setType('vipmg')
snes.setFromOptions()
snes.setVariableBounds(lower, upper)
snes.solve(None, u)

height = field(u)
touching = (height <= hills + 1e-9) & ~edge
info = tessera.SNESVIPMGGetInfo(snes)
print(
    'vipmg: %d Newton steps, %d cycles on %d grids; converged: %s'
    % (snes.getIterationNumber(), snes.getLinearSolveIterations(), info.grids, snes.getConvergedReason() > 0)
)
print('the membrane lies on %.1f %% of the ground' % (100 * touching.mean()))

if arguments:
    import matplotlib

    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 5.2), constrained_layout=True)
    image = axes.pcolormesh(x, y, height, cmap='viridis', shading='auto', rasterized=True)
    axes.contour(x, y, height, 12, colors='white', linewidths=0.5)
    axes.contourf(x, y, touching, [0.5, 1.5], colors=['#d62728'])
    figure.colorbar(image, label='height of the membrane')
    axes.legend(handles=[matplotlib.patches.Patch(color='#d62728', label='it lies on the hills')], loc='lower right')
    axes.set(title='A membrane over four hills', xlabel='x', ylabel='y', aspect='equal')
    figure.savefig(arguments[0], dpi=110)
