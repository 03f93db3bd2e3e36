"""Problems on meshes as people have them: bad elements, jumps, layers, gaps, convection, elasticity. numpy and scipy
make them (gmsh, where it is installed, the part). Each is a matrix with its right-hand side's boundary conditions
built in, and the coordinates of its nodes, in PETSc's binary format."""

import numpy as np
from scipy import sparse
from scipy.spatial import Delaunay, cKDTree


# --- meshes: coordinates x, elements e --------------------------------------------------------------------------------


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


def cloud(dim, nodes, rng, jitter=0.45):
    """Delaunay's mesh of a grid whose points moved: many flat elements, in space slivers, that nothing has improved."""
    m = int(round(nodes ** (1 / dim)))
    axes = np.meshgrid(*[np.arange(m + 1.0)] * dim, indexing='ij')
    x = np.stack([a.ravel() for a in axes], 1)
    inner = (x > 0) & (x < m)
    x += jitter * (2 * rng.random(x.shape) - 1) * inner
    x /= m
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


def fins(dim, nodes, rng, fin=4, gap=2):
    """A plate with fins; the gaps are narrower than the cells of coarse grids."""
    m = int((nodes * (1.4 if dim == 2 else 1.3)) ** (1 / dim))
    _, e, cell = lattice((m,) * dim)
    foot = max(m // 8, 2)
    e = e[(cell[:, -1] < foot) | (cell[:, 0] % (fin + gap) < fin)]
    x = np.stack(np.meshgrid(*[np.arange(m + 1.0)] * dim, indexing='ij'), -1).reshape(-1, dim)
    x += 0.15 * (2 * rng.random(x.shape) - 1) * ((x > 0) & (x < m))
    return compact(x / m, e)


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


# --- coefficients of elements -----------------------------------------------------------------------------------------


def subdomains(mid, rng, decades=4, number=40):
    seeds = mid[rng.choice(len(mid), number, replace=False)]
    return 10.0 ** (decades * rng.integers(0, 2, number))[cKDTree(seeds).query(mid)[1]]


def fractures(mid, rng, size, value=1e4, number=12):
    c = np.ones(len(mid))
    for _ in range(number):
        normal = rng.normal(size=mid.shape[1])
        normal /= np.linalg.norm(normal)
        at, centre = rng.random(mid.shape[1]), rng.random(mid.shape[1])
        c[(np.abs((mid - at) @ normal) < 0.6 * size) & (np.linalg.norm(mid - centre, axis=1) < 0.45)] = value
    return c


def lognormal(mid, rng, sigma=2.0, length=0.08):
    waves = rng.normal(size=(200, mid.shape[1])) / length
    phase = 2 * np.pi * rng.random(200)
    return np.exp(sigma * np.sqrt(2 / 200) * sum(np.cos(mid @ w + p) for w, p in zip(waves, phase)))


def shells(mid, rng, size, value=1e-4, number=12):
    c = np.ones(len(mid))
    for _ in range(number):
        radius, centre = rng.uniform(0.08, 0.4), rng.random(mid.shape[1])
        c[np.abs(np.linalg.norm(mid - centre, axis=1) - radius) < 0.7 * size] = value
    return c


def independent(mid, rng, decades=4):
    return 10.0 ** (decades * rng.random(len(mid)))


# --- matrices ---------------------------------------------------------------------------------------------------------


def gradients(x, e):
    d = x[e[:, 1:]] - x[e[:, :1]]
    g = np.linalg.inv(d).transpose(0, 2, 1)
    return np.concatenate([-g.sum(1, keepdims=True), g], 1)


def assemble(e, local, n, bs=1):
    k = e.shape[1]
    dofs = (e[:, :, None] * bs + np.arange(bs)).reshape(len(e), k * bs)
    i = np.repeat(dofs, k * bs, 1).ravel()
    j = np.tile(dofs, (1, k * bs)).ravel()
    return sparse.csr_matrix((local.ravel(), (i, j)), shape=(n * bs, n * bs))


def diffusion(x, e, c=1.0, wind=None):
    g, v = gradients(x, e), measures(x, e)
    local = np.einsum('e,eaq,ebq->eab', v * c, g, g)
    if wind is not None:
        local = local + np.einsum('e,eq,ebq->eb', v / e.shape[1], wind, g)[:, None, :]
    return assemble(e, local, len(x))


def elasticity(x, e, nu):
    g, v, dim = gradients(x, e), measures(x, e), x.shape[1]
    lam, mu = nu / ((1 + nu) * (1 - 2 * nu)), 0.5 / (1 + nu)
    local = lam * np.einsum('e,eak,ebl->eakbl', v, g, g) + mu * np.einsum('e,eal,ebk->eakbl', v, g, g)
    local += mu * np.einsum('e,eaq,ebq,kl->eakbl', v, g, g, np.eye(dim))
    return assemble(e, local, len(x), dim)


def quadratic(x, e, c=1.0):
    """P2: nodes at the middles of edges behind the vertices."""
    dim, n = x.shape[1], len(x)
    pairs = [(a, b) for a in range(dim + 1) for b in range(a)]
    ends = np.sort(np.stack([e[:, p] for p in pairs], 1), 2)
    key, number = np.unique(ends[..., 0].astype(np.int64) * n + ends[..., 1], return_inverse=True)
    number = number.reshape(len(e), len(pairs))
    x2 = np.concatenate([x, (x[key // n] + x[key % n]) / 2])
    e2 = np.concatenate([e, n + number], 1)
    g, v = gradients(x, e), measures(x, e)
    a0, w0 = (1 / 6, 1 / 3) if dim == 2 else (0.1381966011250105, 0.25)
    local = 0
    for q in range(dim + 1):
        bary = np.full(dim + 1, a0)
        bary[q] = 1 - dim * a0
        grad = [(4 * bary[a] - 1) * g[:, a] for a in range(dim + 1)] + [
            4 * (bary[a] * g[:, b] + bary[b] * g[:, a]) for a, b in pairs
        ]
        grad = np.stack(grad, 1)
        local = local + np.einsum('e,eaq,ebq->eab', w0 * v * c, grad, grad)
    return x2, e2, assemble(e2, local, len(x2))


def fix(a, fixed, bs=1):
    """Dirichlet rows and columns become those of the identity."""
    free = sparse.diags(np.repeat(~fixed, bs).astype(float))
    a = (free @ a @ free + sparse.diags(np.repeat(fixed, bs).astype(float))).tocsr()
    a.sum_duplicates()
    a.sort_indices()
    return a


def bottom(x, axis=-1):
    return x[:, axis] < x[:, axis].min() + 1e-9 * np.ptp(x[:, axis])


# --- the zoo ----------------------------------------------------------------------------------------------------------


def poisson(mesh, coefficient=None, where='all'):
    def make(nodes, rng):
        x, e = mesh(nodes, rng)
        c = coefficient(x[e].mean(1), rng, nodes ** (-1 / x.shape[1])) if coefficient else 1.0
        border = facets(e, len(x)) if where == 'all' else bottom(x)
        return x, fix(diffusion(x, e, c), border), 1

    return make


def blocks(nodes, rng):
    """Seven points on a grid whose cells lie in blocks of 1 and 1e4."""
    m = int(round(nodes ** (1 / 3)))
    x, e = stretched(nodes, 1.0)
    mid = x[e].mean(1)
    c = np.where(np.floor(mid * 5.0001).sum(1) % 2 == 1, 1e4, 1.0)
    return x, fix(diffusion(x, e, c), facets(e, len(x))), 1


def cells(mesh, value=1e-4):
    """Voronoi cells of some 200 nodes with barriers of one element between them."""

    def make(nodes, rng):
        x, e = mesh(nodes, rng)
        cell = cKDTree(rng.random((max(nodes // 200, 8), x.shape[1]))).query(x)[1]
        c = np.where((cell[e] != cell[e[:, :1]]).any(1), value, 1.0)
        return x, fix(diffusion(x, e, c), facets(e, len(x))), 1

    return make


def whirl(nodes, rng):
    x, e = cloud(2, nodes, rng, 0.25)
    mid = 2 * x[e].mean(1) - 1
    w = np.stack([mid[:, 1] * (1 - mid[:, 0] ** 2), -mid[:, 0] * (1 - mid[:, 1] ** 2)], 1) * 2 * nodes**0.5
    return x, fix(diffusion(x, e, 1.0, w), facets(e, len(x))), 1


def breeze(nodes, rng):
    x, e = cloud(2, nodes, rng, 0.25)
    w = np.tile([1.8 * nodes**0.5, 0.9 * nodes**0.5], (len(e), 1))
    return x, fix(diffusion(x, e, 1.0, w), bottom(x, 0) | bottom(x, 1)), 1


def breeze3(nodes, rng):
    x, e = cloud(3, nodes, rng, 0.2)
    w = np.tile(np.array([1.6, 0.8, 0.4]) * nodes ** (1 / 3), (len(e), 1))
    return x, fix(diffusion(x, e, 1.0, w), facets(e, len(x))), 1


def elastic(mesh, nu=0.3, axis=-1):
    def make(nodes, rng):
        x, e = mesh(nodes, rng)
        return x, fix(elasticity(x, e, nu), bottom(x, axis), x.shape[1]), x.shape[1]

    return make


def second(mesh):
    def make(nodes, rng):
        x, e = mesh(nodes, rng)
        x2, e2, a = quadratic(x, e)
        n, border = len(x), np.zeros(len(x2), bool)
        border[:n] = facets(e, n)
        box = [np.isclose(x2[:, q], end(x2[:, q])) for q in range(x2.shape[1]) for end in (np.min, np.max)]
        border |= np.any(box, 0)
        return x2, fix(a, border), 1

    return make


def two(nodes, rng):
    return cloud(2, nodes, rng)


def three(nodes, rng):
    return cloud(3, nodes, rng)


KINDS = {
    # good meshes
    'square': poisson(lambda n, r: cloud(2, n, r, 0.25)),
    'cube': poisson(lambda n, r: cloud(3, n, r, 0.12)),
    # bad elements
    'delaunay2': poisson(two),
    'scattered2': poisson(lambda n, r: scattered(2, n, r)),
    'delaunay3': poisson(three),
    'scattered3': poisson(lambda n, r: scattered(3, n, r)),
    'part': poisson(lambda n, r: part(n), where='bottom'),
    # layers
    'cylinder': poisson(lambda n, r: ring(n, 0.01)),
    'airfoil': poisson(lambda n, r: wing(n)),
    'channel': poisson(channel),
    'pipe': poisson(lambda n, r: pipe(n)),
    'stretched': poisson(lambda n, r: stretched(n)),
    # jumps
    'subdomains2': poisson(two, lambda mid, r, h: subdomains(mid, r)),
    'subdomains3': poisson(three, lambda mid, r, h: subdomains(mid, r)),
    'fractures2': poisson(two, lambda mid, r, h: fractures(mid, r, h)),
    'fractures3': poisson(three, lambda mid, r, h: fractures(mid, r, h)),
    'barriers2': poisson(two, lambda mid, r, h: fractures(mid, r, h, 1e-4)),
    'cells2': cells(two),
    'cells3': cells(three),
    'shells2': poisson(two, lambda mid, r, h: shells(mid, r, h)),
    'shells3': poisson(three, lambda mid, r, h: shells(mid, r, h)),
    'lognormal2': poisson(two, lambda mid, r, h: lognormal(mid, r)),
    'lognormal3': poisson(three, lambda mid, r, h: lognormal(mid, r)),
    'random2': poisson(two, lambda mid, r, h: independent(mid, r)),
    'random3': poisson(three, lambda mid, r, h: independent(mid, r)),
    'blocks3': blocks,
    # gaps
    'fins2': poisson(lambda n, r: fins(2, n, r), where='bottom'),
    'fins3': poisson(lambda n, r: fins(3, n, r), where='bottom'),
    # convection
    'whirl': whirl,
    'breeze': breeze,
    'breeze3': breeze3,
    # other elements
    'second2': second(lambda n, r: cloud(2, n // 4, r, 0.25)),
    'second3': second(lambda n, r: cloud(3, n // 8, r, 0.12)),
    'elastic2': elastic(lambda n, r: cloud(2, n, r, 0.25)),
    'elastic3': elastic(lambda n, r: cloud(3, n, r, 0.12)),
    'elasticpart': elastic(lambda n, r: part(n)),
    'bar2': elastic(lambda n, r: bar(2, n, r), axis=0),
    'bar3': elastic(lambda n, r: bar(3, n, r), axis=0),
    'shell3': elastic(lambda n, r: shell(n, r), axis=0),
    'rubber2': elastic(lambda n, r: cloud(2, n, r, 0.25), nu=0.49),
    'rubber3': elastic(lambda n, r: cloud(3, n, r, 0.12), nu=0.49),
    'incompressible2': elastic(lambda n, r: cloud(2, n, r, 0.25), nu=0.499),
    'incompressible3': elastic(lambda n, r: cloud(3, n, r, 0.12), nu=0.499),
}
UNSYMMETRIC = ('whirl', 'breeze', 'breeze3')
# What they are, in the order of the table that bench/report makes of them.
CLASSES = {
    'good meshes': 'square cube',
    'bad elements': 'delaunay2 scattered2 delaunay3 scattered3 part',
    'layers': 'cylinder airfoil channel pipe stretched',
    'jumps': 'subdomains2 subdomains3 fractures2 fractures3 barriers2 cells2 cells3 shells2 shells3 lognormal2 lognormal3 blocks3',
    'random elements': 'random2 random3',
    'gaps': 'fins2 fins3',
    'convection': 'whirl breeze breeze3',
    'P2 elements': 'second2 second3',
    'elasticity': 'elastic2 elastic3 elasticpart',
    'thin bodies': 'bar2 bar3 shell3',
    'nearly incompressible': 'rubber2 rubber3 incompressible2 incompressible3',
}
CLASS = {kind: name for name, kinds in CLASSES.items() for kind in kinds.split()}


def write(name, x, a):
    a = a.tocsr()
    with open(name + '.mat', 'wb') as out:
        out.write(np.array([1211216, a.shape[0], a.shape[1], a.nnz], '>i4').tobytes())
        out.write(np.diff(a.indptr).astype('>i4').tobytes())
        out.write(a.indices.astype('>i4').tobytes())
        out.write(a.data.astype('>f8').tobytes())
    with open(name + '.xyz', 'wb') as out:
        out.write(np.array([1211214, x.size], '>i4').tobytes() + x.astype('>f8').tobytes())


def make(kind, nodes, seed):
    """x, matrix, unknowns per node; nodes in random order"""
    rng = np.random.default_rng([seed, sum(map(ord, kind))])
    x, a, bs = KINDS[kind](nodes, rng)
    order = rng.permutation(len(x))
    rows = (order[:, None] * bs + np.arange(bs)).ravel()
    a = a[rows][:, rows]
    return x[order], a.tobsr((bs, bs)).tocsr() if bs > 1 else a, bs  # whole blocks, without which GAMG fails
