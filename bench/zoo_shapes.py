"""Meshes as people have them: coordinates x of the nodes, elements e."""

import numpy as np
from scipy.spatial import Delaunay


def measures(x, e):
    d = x[e[:, 1:]] - x[e[:, :1]]
    return np.abs(np.linalg.det(d)) / (2 if x.shape[1] == 2 else 6)


def compact(x, e):
    """Without elements that are flat to rounding, and nodes that are in none."""
    v = measures(x, e)
    e = e[v > 1e-6 * np.median(v)]
    used, e = np.unique(e, return_inverse=True)
    return x[used], e.reshape(-1, x.shape[1] + 1)


def facets(e, n):
    """Nodes on the boundary."""
    k = e.shape[1]
    f = np.sort(np.concatenate([np.delete(e, q, 1) for q in range(k)]), 1)
    key = f[:, 0].astype(np.int64)
    for q in range(1, k - 1):
        key = key * n + f[:, q]
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    border = np.zeros(n, bool)
    border[f[first[count == 1]]] = True
    return border


def grid(shape, rng, jitter):
    """Nodes of a grid of so many cells, moved, in units of a cell."""
    x = np.stack(np.meshgrid(*[np.arange(s + 1.0) for s in shape], indexing='ij'), -1).reshape(-1, len(shape))
    return x + jitter * (2 * rng.random(x.shape) - 1) * ((x > 0) & (x < np.array(shape)))


def cloud(dim, nodes, rng, jitter=0.45):
    """Delaunay's mesh of a grid whose points moved: many flat elements, in space slivers, that nothing has improved."""
    m = int(round(nodes ** (1 / dim)))
    x = grid((m,) * dim, rng, jitter) / m
    return compact(x, Delaunay(x).simplices)


def scattered(dim, nodes, rng):
    """Delaunay's mesh of points anywhere: of all angles."""
    x = np.concatenate([rng.random((nodes, dim)), np.array(np.meshgrid(*[[0.0, 1.0]] * dim)).reshape(dim, -1).T])
    return compact(x, Delaunay(x).simplices)


def lattice(shape):
    """Triangles or tetrahedra (six a cell) of a grid of so many cells; index of each node."""
    dim = len(shape)
    index = np.arange(np.prod(np.array(shape) + 1)).reshape(np.array(shape) + 1)
    paths = [(0, 1), (1, 0)] if dim == 2 else [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    corner = np.stack(np.meshgrid(*[np.arange(s) for s in shape], indexing='ij'), -1).reshape(-1, dim)
    out = []
    for path in paths:
        at, cells = corner.copy(), []
        cells.append(index[tuple(at.T)])
        for axis in path:
            at = at.copy()
            at[:, axis] += 1
            cells.append(index[tuple(at.T)])
        out.append(np.stack(cells, 1))
    return index, np.concatenate(out), np.concatenate([corner] * len(paths))


def ring(nodes, first, around=None):
    """An O-grid about a circle: its first cells are `first` of their length, sizes grow until they are as high as
    long."""
    around = around or int((nodes * 2.2) ** 0.5)
    r, h, radii = 1.0, 2 * np.pi / around * first, [1.0]
    while len(radii) * around < nodes:
        r += h
        radii.append(r)
        h = min(1.2 * h, 2 * np.pi * r / around)
    rows = len(radii) - 1
    index, e, _ = lattice((rows, around))
    x = np.zeros((rows + 1, around + 1, 2))
    angle = 2 * np.pi * np.arange(around + 1) / around
    x[..., 0] = np.array(radii)[:, None] * np.cos(angle)
    x[..., 1] = np.array(radii)[:, None] * np.sin(angle)
    same = np.arange(index.size).reshape(index.shape)
    same[:, -1] = same[:, 0]
    return compact(x.reshape(-1, 2), same.ravel()[e])


def wing(nodes):
    """The same about a Joukowski airfoil."""
    x, e = ring(nodes, 0.02)
    z = (x[:, 0] + 1j * x[:, 1]) * 1.1 - 0.09 + 0.05j
    z = z + 0.96 / z
    return compact(np.stack([z.real, z.imag], 1), e)


def channel(nodes, rng):
    """Layers along a wavy wall, 1:50, with Delaunay's triangles above them."""
    m = int((nodes / 1.6) ** 0.5)
    t = np.linspace(0, 1, m + 1)
    heights, h = [0.0], 0.02 / m
    while h < 1 / m:
        heights.append(heights[-1] + h)
        h *= 1.25
    wall = 0.12 * np.sin(7 * t) + 0.06 * np.sin(17 * t)
    slope = np.gradient(wall, t)
    normal = np.stack([-slope, np.ones_like(t)], 1) / np.sqrt(1 + slope**2)[:, None]
    normal[[0, -1]] = [0, 1]
    base = np.stack([t, wall], 1)
    layers = np.concatenate([base + h * normal for h in heights])
    index, e, _ = lattice((len(heights) - 1, m))
    top = base + heights[-1] * normal
    free = np.stack(np.meshgrid(np.arange(0.5, m), np.arange(1, m)), -1).reshape(-1, 2) / m
    free[:, 0] += 0.3 / m * (2 * rng.random(len(free)) - 1)
    above = np.interp(free[:, 0], top[:, 0], top[:, 1])
    free[:, 1] = above + free[:, 1] * (1 - above)
    lid = np.stack([t, np.ones_like(t)], 1)
    x = np.concatenate([layers, free, lid])
    upper = np.concatenate([index[-1], np.arange(len(layers), len(x))])
    tri = upper[Delaunay(x[upper]).simplices]
    mid = x[tri].mean(1)
    return compact(x, np.concatenate([e, tri[mid[:, 1] > np.interp(mid[:, 0], top[:, 0], top[:, 1])]]))


def pipe(nodes):
    """A tube in space with layers at its outer wall."""
    n = int((nodes / 14) ** (1 / 3) * 2)
    radii, h, r = [1.0], 0.02 * 2 * np.pi / (3 * n), 1.0
    while r - h > 0.3:
        r -= h
        radii.append(r)
        h = min(1.3 * h, 2 * np.pi / (3 * n))
    index, e, _ = lattice((len(radii) - 1, 3 * n, 2 * n))
    a = 2 * np.pi * np.arange(3 * n + 1) / (3 * n)
    x = np.zeros(index.shape + (3,))
    rr = np.array(radii)[:, None, None]
    x[..., 0] = rr * np.cos(a)[None, :, None]
    x[..., 1] = rr * np.sin(a)[None, :, None]
    x[..., 2] = np.arange(2 * n + 1)[None, None, :] * 2 * np.pi / (3 * n)
    same = index.copy()
    same[:, -1] = same[:, 0]
    return compact(x.reshape(-1, 3), same.ravel()[e])


def stretched(nodes, growth=1.05):
    m = int(round(nodes ** (1 / 3)))
    _, e, _ = lattice((m,) * 3)
    t = np.concatenate([[0], np.cumsum(growth ** np.arange(m))])
    x = np.stack(np.meshgrid(t, t, t, indexing='ij'), -1).reshape(-1, 3)
    return x / t[-1], e


def extruded(plane, heights):
    """Prisms between surfaces over a plane mesh, each of three tetrahedra; heights: of each surface at the mesh's nodes."""
    x, e = plane
    n, e = len(x), np.sort(e, 1)
    out = []
    for k in range(len(heights) - 1):
        a, b = (e + k * n).T, (e + (k + 1) * n).T
        out += [np.stack(c, 1) for c in ((a[0], a[1], a[2], b[2]), (a[0], a[1], b[1], b[2]), (a[0], b[0], b[1], b[2]))]
    return np.concatenate([np.column_stack([x, z]) for z in heights]), np.concatenate(out)


def sheet(nodes, rng, layers):
    """An ice sheet on a bed of waves, a fifth to 1.5 of a triangle's edge thick: flat elements in columns."""
    x, e = cloud(2, nodes // (layers + 1), rng, 0.25)
    edge = len(x) ** -0.5
    bed = edge * (4 * np.sin(9 * x[:, 0]) * np.cos(7 * x[:, 1]) + 10 * x[:, 0])
    thick = edge * (0.2 + 1.3 * np.exp(-6 * ((x - 0.5) ** 2).sum(1)))
    return extruded((x, e), [bed + (k / layers) ** 1.3 * thick for k in range(layers + 1)])


def beds(nodes, rng, layers):
    """Beds of rock, 0.02 to 0.2 of a triangle's edge thick, that dip and wave."""
    x, e = cloud(2, nodes // (layers + 1), rng, 0.25)
    edge = len(x) ** -0.5
    at = edge * (6 * x[:, 0] + 0.6 * np.cos(8 * x[:, 1]))
    return extruded((x, e), [at + edge * t for t in np.concatenate([[0], np.cumsum(rng.uniform(0.02, 0.2, layers))])])


def bar(dim, nodes, rng, slim=20):
    """A slim bar along the first axis."""
    m = max(int((nodes / slim) ** (1 / dim)), 3)
    _, e, _ = lattice((slim * m,) + (m,) * (dim - 1))
    x = np.stack(np.meshgrid(*[np.arange(s + 1.0) for s in (slim * m,) + (m,) * (dim - 1)], indexing='ij'), -1).reshape(
        -1, dim
    )
    inner = np.ones(len(x), bool)
    for q in range(dim):
        inner &= (x[:, q] > 0) & (x[:, q] < x[:, q].max())
    x += 0.2 * (2 * rng.random(x.shape) - 1) * inner[:, None]
    return compact(x / m, e)


def shell(nodes, rng):
    """Half a pipe whose wall, of two elements, has a fiftieth of its radius."""
    m = max(int((nodes / 6) ** 0.5), 4)
    _, e, _ = lattice((2 * m, m, 2))
    s, t, r = (
        g.ravel() for g in np.meshgrid(np.arange(2 * m + 1.0), np.arange(m + 1.0), np.arange(3.0), indexing='ij')
    )
    s += 0.2 * (2 * rng.random(len(s)) - 1) * ((s > 0) & (s < 2 * m))
    t += 0.2 * (2 * rng.random(len(t)) - 1) * ((t > 0) & (t < m))
    radius, angle = 1 + 0.01 * r, np.pi * t / m
    return compact(np.stack([np.pi * s / m, radius * np.cos(angle), radius * np.sin(angle)], 1), e)


def part(nodes):
    """A bracket with bores, by gmsh without any improvement of its tetrahedra."""
    import gmsh

    gmsh.initialize()
    gmsh.option.setNumber('General.Terminal', 0)
    occ = gmsh.model.occ
    body, _ = occ.fuse(
        [(3, occ.addBox(0, 0, 0, 4, 2, 0.4))],
        [(3, occ.addBox(0, 0, 0, 0.4, 2, 2)), (3, occ.addCylinder(3, 1, 0, 0, 0, 1, 0.6))],
    )
    holes = [(3, occ.addCylinder(3, 1, -1, 0, 0, 3, 0.35))] + [
        (3, occ.addCylinder(1 + 0.8 * k, 0.4, -1, 0, 0, 3, 0.12)) for k in range(3)
    ]
    holes += [(3, occ.addCylinder(-1, 1, 1.3, 3, 0, 0, 0.3))]
    occ.cut(body, holes)
    occ.synchronize()
    h = (6.5 / nodes) ** (1 / 3)
    gmsh.option.setNumber('Mesh.MeshSizeMin', 0.4 * h)
    gmsh.option.setNumber('Mesh.MeshSizeMax', h)
    gmsh.option.setNumber('Mesh.MeshSizeFromCurvature', 12)
    gmsh.option.setNumber('Mesh.Optimize', 0)
    gmsh.option.setNumber('Mesh.Algorithm3D', 1)
    gmsh.model.mesh.generate(3)
    tags, x, _ = gmsh.model.mesh.getNodes()
    types, _, members = gmsh.model.mesh.getElements(3)
    place = np.zeros(int(tags.max()) + 1, np.int64)
    place[tags] = np.arange(len(tags))
    e = place[members[list(types).index(4)]].reshape(-1, 4)
    x = x.reshape(-1, 3).copy()
    gmsh.finalize()
    return compact(x, e)
