#!/usr/bin/env python3
"""Draws the figures of docs/explanation into docs/figures: needs numpy and matplotlib. One function a figure."""

import os

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch, Rectangle

HERE = os.path.dirname(os.path.abspath(__file__))
BLUE, RED, GREEN, GREY, SAND = '#0b6e8f', '#c9413c', '#3f8f5f', '#b8b8b8', '#e3d9b8'
plt.rcParams.update(
    {
        'svg.hashsalt': 'tessera',
        'svg.fonttype': 'none',
        'font.size': 9,
        'axes.titlesize': 10,
        'axes.titlelocation': 'left',
    }
)


def save(figure, name, ending='.svg'):
    path = os.path.join(HERE, 'figures', name + ending)
    figure.savefig(path, dpi=100, metadata={'Date': None} if ending == '.svg' else {'Software': None})
    plt.close(figure)
    print('%s: %d kB' % (os.path.relpath(path), os.path.getsize(path) // 1024))


def rrb_levels():
    """Two levels of repeated red-black ordering, and the four quarters in memory."""
    n = 9
    x, y = np.meshgrid(np.arange(n), np.arange(n))
    red, o, c = (x + y) % 2 == 1, (x % 2 == 0) & (y % 2 == 0), (x % 2 == 1) & (y % 2 == 1)
    a, b = red & (x % 2 == 1), red & (x % 2 == 0)
    figure, axes = plt.subplots(1, 3, figsize=(10, 4.6))
    figure.subplots_adjust(left=0.05, right=0.99, bottom=0.26, top=0.84, wspace=0.16)
    for axis in axes[:2]:
        axis.set_aspect('equal')
        axis.set_xticks(range(0, n, 2))
        axis.set_yticks(range(0, n, 2))
        axis.set_xlabel('x [nodes]')
        axis.set_ylabel('y [nodes]')
        axis.set_xlim(-0.6, n - 0.4)
        axis.set_ylim(-0.6, n - 0.4)
    for k in range(n):
        axes[0].plot([k, k], [0, n - 1], color=GREY, lw=0.6, zorder=0)
        axes[0].plot([0, n - 1], [k, k], color=GREY, lw=0.6, zorder=0)
    axes[0].scatter(x[red], y[red], s=46, color=RED, label='red: eliminated exactly')
    axes[0].scatter(x[~red], y[~red], s=46, color='black', label='black: carries $S_1$')
    axes[0].set_title('1. Red and black')
    for i in range(n):
        for j in range(n):
            if o[j, i]:
                for di, dj in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                    if 0 <= i + di < n and 0 <= j + dj < n:
                        axes[1].plot([i, i + di], [j, j + dj], color=GREY, lw=0.6, zorder=0)
    axes[1].scatter(x[red], y[red], s=10, color=RED, alpha=0.25)
    axes[1].scatter(x[o], y[o], s=46, color=SAND, edgecolor='black', label='o: eliminated next')
    axes[1].scatter(x[c], y[c], s=60, color=BLUE, marker='s', label='c: the next grid')
    axes[1].set_title('2. Black nodes: o and c')
    for axis in axes[:2]:
        axis.legend(loc='upper center', bbox_to_anchor=(0.5, -0.18), frameon=False)
    axis = axes[2]
    axis.set_aspect('equal')
    axis.set_axis_off()
    axis.set_title('3. Stored by quarters')
    kinds = (('o', o, SAND, 0, 0), ('a', a, '#e58f8b', 6.4, 0), ('b', b, RED, 0, 6.9), ('c', c, BLUE, 6.4, 6.9))
    for name, mask, colour, left, low in kinds:
        xs, ys = x[mask] // 2, y[mask] // 2
        for i, j in zip(xs, ys):
            axis.add_patch(Rectangle((left + i, low + j), 0.9, 0.9, facecolor=colour, edgecolor='white'))
        what = {'o': 'x, y even', 'a': 'x odd, y even', 'b': 'x even, y odd', 'c': 'x, y odd'}[name]
        axis.text(left, low + len(set(ys)) + 0.25, '%s: %s' % (name, what), fontsize=9)
    axis.set_xlim(-0.3, 12.4)
    axis.set_ylim(-0.3, 12.4)
    figure.suptitle('Repeated red-black ordering of a grid of 9 x 9 nodes', fontsize=11)
    save(figure, 'rrb-levels')


def split(points, most):
    """Leaves of a quadtree over the unit square, {(level, i, j)}, balanced by sides and corners."""
    count = lambda l, i, j: np.sum((np.floor(points[:, 0] * 2**l) == i) & (np.floor(points[:, 1] * 2**l) == j))
    leaves, todo = set(), [(0, 0, 0)]
    children = lambda l, i, j: [(l + 1, 2 * i + di, 2 * j + dj) for di in (0, 1) for dj in (0, 1)]
    while todo:
        cell = todo.pop()
        if count(*cell) > most and cell[0] < 8:
            todo += children(*cell)
        else:
            leaves.add(cell)
    changed = True
    while changed:
        changed = False
        for l, i, j in sorted(leaves, reverse=True):
            for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
                a, b = i + di, j + dj
                for up in range(2, l + 1):
                    coarse = (l - up, a >> up, b >> up)
                    if 0 <= a < 2**l and 0 <= b < 2**l and coarse in leaves:
                        leaves.remove(coarse)
                        leaves.update(children(*coarse))
                        changed = True
    return leaves


def auxamg_tree():
    """The balanced trees of two grids over the nodes of a mesh graded to a hole."""
    rng = np.random.default_rng(5)
    r = 0.08 + 0.62 * rng.random(1500) ** 2.2
    phi = np.pi / 2 * rng.random(1500)
    points = np.column_stack([r * np.cos(phi), r * np.sin(phi)]) / 0.72
    points = points[(points < 1).all(axis=1)]
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout='constrained')
    for axis, most, title in zip(
        axes, (12, 48), ('Grid 1: at most 12 nodes in a cell', 'Grid 2: at most 48, nested in grid 1')
    ):
        leaves = split(points, most)
        inside = lambda l, i, j: np.any((np.floor(points[:, 0] * 2**l) == i) & (np.floor(points[:, 1] * 2**l) == j))
        occupied = [cell for cell in leaves if inside(*cell)]
        vertices, sides = set(), {}
        for l, i, j in occupied:
            h = 2.0**-l
            axis.add_patch(Rectangle((i * h, j * h), h, h, fill=False, edgecolor=BLUE, lw=0.8))
            vertices.update((float((i + di) * h), float((j + dj) * h)) for di in (0, 1) for dj in (0, 1))
            sides[(l, i, j)] = h
        hanging = set()
        for v in vertices:
            for (l, i, j), h in sides.items():
                on_x = v[0] in (i * h, (i + 1) * h) and j * h < v[1] < (j + 1) * h
                on_y = v[1] in (j * h, (j + 1) * h) and i * h < v[0] < (i + 1) * h
                if on_x or on_y:
                    hanging.add(v)
        own = np.array(sorted(vertices - hanging))
        axis.scatter(points[:, 0], points[:, 1], s=1.5, color=GREY, label='nodes of the mesh (%d)' % len(points))
        axis.scatter(
            own[:, 0], own[:, 1], s=13, color='black', zorder=3, label='vertices: unknowns of the grid (%d)' % len(own)
        )
        if hanging:
            h = np.array(sorted(hanging))
            axis.scatter(
                h[:, 0],
                h[:, 1],
                s=17,
                facecolor='white',
                edgecolor=RED,
                zorder=3,
                label='hanging vertices: interpolated (%d)' % len(h),
            )
        axis.set_title(title)
        axis.set_aspect('equal')
        axis.set_xlabel('x')
        axis.set_ylabel('y')
        axis.legend(loc='upper center', bbox_to_anchor=(0.5, -0.12), frameon=False)
    figure.suptitle('A balanced quadtree over a mesh graded to a hole')
    save(figure, 'auxamg-tree', '.png')  # thousands of points


def vipmg_truncation():
    """A string on an obstacle: the active set, and coarse basis functions before and after truncation."""
    n = 64
    x = np.linspace(0, 1, n + 1)
    obstacle = 0.42 - 3.2 * (x - 0.45) ** 2 + 0.05 * np.sin(14 * x)
    u, h = np.maximum(obstacle, 0), 1 / n
    for _ in range(20000):
        for start in (1, 2):
            u[start:-1:2] = np.maximum(
                obstacle[start:-1:2],
                0.5 * (u[start - 1 : -2 : 2] + u[start + 1 :: 2][: len(u[start:-1:2])]) - 0.1 * h * h,
            )
    active = np.isclose(u, obstacle) & (x > 0) & (x < 1)
    figure, axes = plt.subplots(2, 1, figsize=(8, 4.8), sharex=True, layout='constrained', height_ratios=[1.3, 1])
    axes[0].fill_between(x, -0.1, obstacle, color=SAND, label='obstacle (lower bound)')
    axes[0].plot(x, u, color=BLUE, label='solution')
    axes[0].plot(x[active], u[active], 'o', ms=3.5, color=RED, label='active set: nodes at the bound')
    axes[0].set_ylim(-0.05, 0.55)
    axes[0].set_ylabel('height')
    axes[0].set_title('A string over an obstacle')
    axes[0].legend(frameon=False, loc='upper right')
    for k, centre in enumerate(range(8, n, 8)):
        phi = np.maximum(0, 1 - np.abs(x - x[centre]) * n / 8)
        axes[1].plot(x, phi, color=GREY, lw=0.8, ls='--', label='before' if k == 0 else None)
        cut = np.where(active, 0, phi)
        if cut.max() > 0:
            axes[1].fill_between(x, 0, cut, color=BLUE, alpha=0.2)
            axes[1].plot(x, cut, color=BLUE, lw=1.1, label='truncated: zero in the active set' if k == 0 else None)
    axes[1].set_ylabel('basis functions')
    axes[1].set_xlabel('x')
    axes[1].set_ylim(0, 1.35)
    axes[1].set_title('Functions of a coarse grid, before and after truncation')
    axes[1].legend(frameon=False, loc='upper right', ncols=2)
    save(figure, 'vipmg-truncation')


def densegs_panels():
    """A matrix of five panels in the middle of a forward sweep."""
    n, now = 5, 2
    figure, axis = plt.subplots(figsize=(8.8, 3.9))
    figure.subplots_adjust(left=0.02, right=0.54, bottom=0.03, top=0.86)
    for i in range(n):
        for j in range(n):
            if i == j:
                colour = GREEN if i < now else RED if i == now else '#f2f2f2'
            elif j < now or (j < i and i < now):
                colour = BLUE if i >= now else '#9fc7d6'
            elif i < now:
                colour = '#9fc7d6'
            else:
                colour = 'white' if j != now or i < now else SAND
            if i > now and j > now and i != j:
                colour = '#f2f2f2'
            if i == now and j > now:
                colour = '#9fc7d6'
            axis.add_patch(Rectangle((j, n - 1 - i), 0.96, 0.96, facecolor=colour, edgecolor=GREY))
    for k in range(n):
        axis.text(-0.15, n - 0.5 - k, 'panel %d' % (k + 1), ha='right', va='center')
        axis.text(k + 0.48, n + 0.08, '$x_{%d}$' % (k + 1), ha='center')
    axis.set_xlim(-1.2, n + 0.1)
    axis.set_ylim(-0.1, n + 0.5)
    axis.set_aspect('equal')
    axis.set_axis_off()
    axis.legend(
        handles=[
            Patch(facecolor=GREEN, edgecolor=GREY, label='triangles that are solved'),
            Patch(facecolor='#9fc7d6', edgecolor=GREY, label='multiplied in this sweep or with the old x'),
            Patch(facecolor=BLUE, edgecolor=GREY, label='multiplied ahead with the new x, side by side'),
            Patch(facecolor=RED, edgecolor=GREY, label='solved now: row after row'),
            Patch(facecolor=SAND, edgecolor=GREY, label='waits for the panel that is solved'),
            Patch(facecolor='#f2f2f2', edgecolor=GREY, label='waits for later panels'),
        ],
        loc='upper left',
        bbox_to_anchor=(1.0, 0.9),
        frameon=False,
    )
    axis.set_title('A forward sweep over panels of 64 rows and columns, in the middle of panel 3', pad=10)
    axis.text(-1.2, n + 0.08, 'rows', ha='left')
    axis.text(n + 0.12, n + 0.08, 'columns: unknowns', ha='left')
    save(figure, 'densegs-panels')


if __name__ == '__main__':
    os.makedirs(os.path.join(HERE, 'figures'), exist_ok=True)
    rrb_levels()
    auxamg_tree()
    vipmg_truncation()
    densegs_panels()
