"""Meshes with gaps: parts that lie close and are far apart along the mesh."""

import numpy as np
from scipy.spatial import Delaunay, cKDTree

import zoo_shapes as shapes


def fins(dim, nodes, rng, fin=4, gap=2):
    """A plate with fins; the gaps are narrower than the cells of coarse grids."""
    m = int((nodes * (1.4 if dim == 2 else 1.3)) ** (1 / dim))
    _, e, cell = shapes.lattice((m,) * dim)
    foot = max(m // 8, 2)
    e = e[(cell[:, -1] < foot) | (cell[:, 0] % (fin + gap) < fin)]
    return shapes.compact(shapes.grid((m,) * dim, rng, 0.15) / m, e)


def sink(nodes, rng, number=4, thick=2):
    """A heat sink with few thin fins far apart."""
    m = int((2 * nodes) ** (1 / 3))
    _, e, cell = shapes.lattice((m,) * 3)
    e = e[(cell[:, -1] < m // 5) | (cell[:, 0] % (m / number) < thick)]
    return shapes.compact(shapes.grid((m,) * 3, rng, 0.1) / m, e)


def passages(rooms, rng):
    """Pairs of neighbouring rooms of a maze that a door joins: a random tree."""
    number = np.arange(np.prod(rooms)).reshape(rooms)
    walls = []
    for axis in range(len(rooms)):
        along = np.moveaxis(number, axis, 0)
        walls += list(zip(along[:-1].ravel(), along[1:].ravel()))
    rng.shuffle(walls)
    root = list(range(number.size))
    doors = set()
    for a, b in walls:
        ends = []
        for r in (a, b):
            while root[r] != r:
                r = root[r]
            ends.append(r)
        if ends[0] != ends[1]:
            root[ends[0]] = ends[1]
            doors.add((a, b))
    return doors


def maze(dim, nodes, rng):
    """Rooms of some elements along an axis; walls are slits, their two sides a fifth of an element apart."""
    room = 5 if dim == 2 else 4
    m = max(int(0.95 * nodes ** (1 / dim)) // room, 2) * room
    _, e, cell = shapes.lattice((m,) * dim)
    rooms = (m // room,) * dim
    doors = passages(rooms, rng)
    x = shapes.grid((m,) * dim, rng, 0.15)
    of = np.ravel_multi_index(tuple((cell // room).T), rooms)
    # a node for each set of rooms around it that doors join
    key, place = np.unique(e * np.int64(np.prod(rooms)) + of[:, None], return_inverse=True)
    node, of_pair = key // np.prod(rooms), key % np.prod(rooms)
    begin = np.searchsorted(node, np.arange(len(x) + 1))
    number, points = np.empty(len(key), int), []
    for p in range(len(x)):
        around = of_pair[begin[p] : begin[p + 1]]
        part = list(range(len(around)))
        for a in range(len(around)):
            for b in range(a + 1, len(around)):
                if (around[a], around[b]) in doors:
                    part = [part[a] if q == part[b] else q for q in part]
        parts = sorted(set(part))
        for q in parts:
            middle = np.array(np.unravel_index(around[np.array(part) == q], rooms)).mean(1) * room + room / 2
            away = middle - x[p]
            points.append(x[p] + (0.1 * away / max(np.linalg.norm(away), 1e-9) if len(parts) > 1 else 0))
        number[begin[p] : begin[p + 1]] = len(points) - len(parts) + np.array([parts.index(q) for q in part])
    return shapes.compact(np.array(points) / m, number[place].reshape(e.shape))


def strips(nodes, rng, number=14, value=1e-5, width=0.2):
    """Thin strips of little conductivity with open ends, whose sides the mesh follows: x, e, coefficients."""
    h = nodes**-0.5
    lines, sides = [], []
    for _ in range(number):
        angle, length, middle = rng.random() * np.pi, rng.uniform(0.3, 0.6), rng.uniform(0.25, 0.75, 2)
        along = np.array([np.cos(angle), np.sin(angle)])
        across = np.array([-along[1], along[0]])
        lines.append((middle, along, across, length))
        steps = np.outer(np.arange(-length / 2, length / 2, h), along)
        new = np.concatenate([middle + steps + side * 0.5 * width * h * across for side in (-1, 1)])
        new = new[((new > 0.01) & (new < 0.99)).all(1)]
        if sides:
            new = new[cKDTree(np.concatenate(sides)).query(new)[0] > 0.5 * h]
        sides.append(new)
    sides = np.concatenate(sides)
    free = shapes.cloud(2, nodes, rng, 0.35)[0]
    x = np.concatenate([free[cKDTree(sides).query(free)[0] > 0.6 * h], sides])
    x, e = shapes.compact(x, Delaunay(x).simplices)
    c = np.ones(len(e))
    for middle, along, across, length in lines:
        off = x[e] - middle
        inside = (np.abs(off @ across) < 0.51 * width * h).all(1) & (np.abs(off @ along) < length / 2 + h).all(1)
        c[inside] = value
    return x, e, c
