"""Problems on meshes as people have them: bad elements, jumps, layers, gaps, convection, elasticity. numpy and scipy
make them (gmsh, where it is installed, the part). Each is a matrix with its right-hand side's boundary conditions
built in, and the coordinates of its nodes, in PETSc's binary format."""

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

import zoo_gaps
from zoo_shapes import bar, beds, channel, cloud, facets, measures, part, pipe, ring, scattered, sheet, shell, stretched, wing


# --- coefficients of elements -----------------------------------------------------------------------------------------


def subdomains(mid, rng, decades=4, number=40):
    seeds = mid[rng.choice(len(mid), number, replace=False)]
    return 10.0 ** (decades * rng.integers(0, 2, number))[cKDTree(seeds).query(mid)[1]]


def inclusions(mid, rng, value=1e4, number=40):
    """Disks (balls) of many sizes that do not touch, as far as elements show them."""
    dim, c = mid.shape[1], np.ones(len(mid))
    least, most = (0.02, 0.09) if dim == 2 else (0.06, 0.14)
    centres, radii = np.zeros((0, dim)), np.zeros(0)
    for _ in range(100 * number):
        centre, radius = rng.random(dim), rng.uniform(least, most)
        if len(radii) < number and np.all(np.linalg.norm(centres - centre, axis=1) > radii + radius + least):
            centres, radii = np.vstack([centres, centre]), np.append(radii, radius)
            c[np.linalg.norm(mid - centre, axis=1) < radius] = value
    return c


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


def elasticity(x, e, nu, c=1.0):
    g, v, dim = gradients(x, e), measures(x, e) * c, x.shape[1]
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
    x, e = stretched(nodes, 1.0)
    mid = x[e].mean(1)
    c = np.where(np.floor(mid * 5.0001).sum(1) % 2 == 1, 1e4, 1.0)
    return x, fix(diffusion(x, e, c), facets(e, len(x))), 1


def ice(nodes, rng):
    """Held at its bed, which are the nodes of the first surface."""
    layers = 15
    x, e = sheet(nodes, rng, layers)
    return x, fix(diffusion(x, e), np.arange(len(x)) < len(x) // (layers + 1)), 1


def rock(nodes, rng):
    """Each bed has a coefficient of its own, from 1e-3 to 10; held on one side."""
    layers = 24
    x, e = beds(nodes, rng, layers)
    c = np.repeat(10 ** rng.uniform(-3, 1, layers), len(e) // layers)
    return x, fix(diffusion(x, e, c), bottom(x, 0)), 1


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


def elastic(mesh, nu=0.3, axis=-1, stiffness=None):
    def make(nodes, rng):
        x, e = mesh(nodes, rng)
        c = stiffness(x[e].mean(1), rng) if stiffness else 1.0
        return x, fix(elasticity(x, e, nu, c), bottom(x, axis), x.shape[1]), x.shape[1]

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


def strips(nodes, rng):
    x, e, c = zoo_gaps.strips(nodes, rng)
    return x, fix(diffusion(x, e, c), facets(e, len(x))), 1


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
    'ice': ice,
    'rock': rock,
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
    'inclusions2': poisson(two, lambda mid, r, h: inclusions(mid, r)),
    'inclusions3': poisson(three, lambda mid, r, h: inclusions(mid, r)),
    'blocks3': blocks,
    # gaps
    'fins2': poisson(lambda n, r: zoo_gaps.fins(2, n, r), where='bottom'),
    'fins3': poisson(lambda n, r: zoo_gaps.fins(3, n, r), where='bottom'),
    'sink3': poisson(lambda n, r: zoo_gaps.sink(n, r), where='bottom'),
    'maze2': poisson(lambda n, r: zoo_gaps.maze(2, n, r), where='bottom'),
    'maze3': poisson(lambda n, r: zoo_gaps.maze(3, n, r), where='bottom'),
    'strips2': strips,
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
    'composite2': elastic(two, stiffness=inclusions),
    'composite3': elastic(three, stiffness=inclusions),
    'grains2': elastic(two, stiffness=subdomains),
    'grains3': elastic(three, stiffness=subdomains),
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
    'layers': 'cylinder airfoil channel pipe stretched ice rock',
    'jumps': 'subdomains2 subdomains3 fractures2 fractures3 barriers2 cells2 cells3 shells2 shells3 lognormal2 lognormal3 '
    'inclusions2 inclusions3 blocks3',
    'random elements': 'random2 random3',
    'gaps': 'fins2 fins3 sink3 maze2 maze3 strips2',
    'convection': 'whirl breeze breeze3',
    'P2 elements': 'second2 second3',
    'elasticity': 'elastic2 elastic3 elasticpart',
    'thin bodies': 'bar2 bar3 shell3',
    'stiff bodies': 'composite2 composite3 grains2 grains3',
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
