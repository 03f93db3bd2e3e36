"""Arrays of CuPy on a CUDA device: `arrays.py NAME` runs a case, `arrays.py` lists them, `arrays.py --missing` prints
why none can run here."""

import inspect
import os
import resource
import sys


def missing():
    """Why there is no CuPy or no device to use; empty where there are both."""
    try:
        import cupy
    except ImportError as error:
        return 'no CuPy: %s' % str(error).strip().split('\n')[0]
    try:
        cupy.zeros(1)
    except Exception as error:
        return 'CuPy finds no device: %s' % error
    if os.environ.get('TESSERA_CUDA') != '1':
        return 'a library without CUDA'
    return ''


def problems(count, n, seed=3):
    """Matrices that are not symmetric, so that rows and columns are told apart, and right-hand sides."""
    import numpy as np

    rng = np.random.default_rng(seed)
    G, q = rng.standard_normal((count, n, n)) / n**0.5, rng.standard_normal((count, n))
    A = G @ G.swapaxes(1, 2) + np.eye(n)
    A[:, 0, 1] += 0.3
    return A, q


def by_columns(A):
    """On the device, as the docstring of lcp_solve_batch() says."""
    import cupy

    return cupy.ascontiguousarray(cupy.asarray(A).swapaxes(1, 2)).swapaxes(1, 2)


class Bare:
    """An array without anything but what DLPack and a view with swapped axes need: whoever reads its numbers from
    Python fails."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def swapaxes(self, a, b):
        return Bare(self.array.swapaxes(a, b))

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)


def solve(A, q, lower=None, upper=None, first=None, wrap=lambda array: array, **options):
    """The answers of a device, as arrays of the host."""
    import cupy
    import tessera

    lower, upper = (a if a is None else cupy.asarray(a) for a in (lower, upper))
    x = cupy.zeros_like(cupy.asarray(q)) if first is None else cupy.asarray(first)
    place = x.data.ptr
    wrapped = [a if a is None else wrap(a) for a in (by_columns(A), cupy.asarray(q), lower, upper, x)]
    result = tessera.lcp_solve_batch(*wrapped, **options)
    assert result.x is wrapped[4] and x.data.ptr == place
    return x.get(), result.residual, result.unsolved


def close(device, host, tolerance=1e-9):
    (x, residual, unsolved), (y, _, left) = device, host
    assert unsolved == left == 0, (unsolved, left)
    assert abs(x - y).max() <= tolerance * abs(y).max(), abs(x - y).max()
    assert residual.shape == x.shape[:1] and residual.max() <= 1e-12, residual.max()


def answers():
    """batches on a device have NumPy's answers"""
    import numpy as np
    import tessera

    for count, n in (1, 2), (1000, 5), (200, 33), (20, 150), (3, 400):
        A, q = problems(count, n)
        close(solve(A, q, rtol=1e-12), tessera.lcp_solve_batch(A, q, rtol=1e-12))
        bounds = -0.1 * np.ones_like(q), 0.2 + np.zeros_like(q)
        host = tessera.lcp_solve_batch(A, q, *bounds, rtol=1e-12)
        close(solve(A, q, *bounds, first=3.0 + np.zeros_like(q), rtol=1e-12), host)
        x = host.x
        assert x.min() >= -0.1 and x.max() <= 0.2, (x.min(), x.max())


def finished():
    """what sweeps do not solve gets its answers on the device, too"""
    import tessera

    A, q = problems(50, 20)
    for sweeps in 0, 1:
        close(solve(A, q, rtol=1e-12, sweeps=sweeps), tessera.lcp_solve_batch(A, q, rtol=1e-12))


def backends():
    """arrays on one side, the solver on the other"""
    import tessera

    A, q = problems(100, 12)
    host, device = tessera.TesseraBackend.TESSERA_BACKEND_HOST, tessera.TesseraBackend.TESSERA_BACKEND_CUDA
    expected = tessera.lcp_solve_batch(A, q, rtol=1e-12)
    close(solve(A, q, rtol=1e-12, backend=host), expected)
    close(tessera.lcp_solve_batch(A, q, rtol=1e-12, backend=device), expected)


def managed():
    """arrays in managed memory"""
    import cupy
    import tessera

    A, q = problems(100, 12)
    expected = tessera.lcp_solve_batch(A, q, rtol=1e-12)
    with cupy.cuda.using_allocator(cupy.cuda.malloc_managed):
        assert cupy.zeros(1).__dlpack_device__()[0] == 13
        close(solve(A, q, rtol=1e-12), expected)


def streams():
    """arrays that a stream of CuPy is still filling"""
    import cupy
    import tessera

    A, q = problems(64, 200)
    expected = tessera.lcp_solve_batch(A, q, rtol=1e-12)
    work = cupy.linspace(0.0, 1.0, 16000000).reshape(4000, 4000)
    delay = cupy.ElementwiseKernel(
        'float64 a', 'float64 b', 'b = a; for (int k = 0; k < 4000; ++k) b = cos(b);', 'tests_python_delay'
    )
    matrix, vector = by_columns(A), cupy.asarray(q)
    delay(work[:1])  # compiled
    for stream in cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(), cupy.cuda.Stream.null:
        late, x = cupy.full_like(vector, 7.0), cupy.zeros_like(vector)
        cupy.cuda.Device().synchronize()
        with stream:
            delay(work)
            cupy.copyto(late, vector)
            assert not stream.done
            result = tessera.lcp_solve_batch(matrix, late, x=x, rtol=1e-12)
            y = x + 0.0  # after the answers
        stream.synchronize()
        close((y.get(), result.residual, result.unsolved), expected)


def copies():
    """neither host nor device get a copy of the arrays"""
    import cupy
    import numpy as np
    import tessera

    small, q = problems(4, 64)
    solve(small, q, rtol=1e-12)  # kernels are loaded
    A = cupy.tile(by_columns(small).swapaxes(1, 2), (4096, 1, 1)).swapaxes(1, 2)  # 512 MB
    b = cupy.tile(cupy.asarray(q), (4096, 1))
    x = cupy.zeros_like(b)
    cupy.cuda.Device().synchronize()
    cupy.get_default_memory_pool().free_all_blocks()
    free = cupy.cuda.runtime.memGetInfo()[0]
    taken = cupy.cuda.alloc(free - A.nbytes // 2) if free > A.nbytes // 2 else None  # a copy of A finds no place
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = tessera.lcp_solve_batch(Bare(A), Bare(b), x=Bare(x), rtol=1e-12)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    del taken
    assert result.unsolved == 0
    assert np.array_equal(x[:4].get(), x[-4:].get())
    assert grown < A.nbytes // 8, '%d MB of the host for %d MB of matrices' % (grown >> 20, A.nbytes >> 20)


def refusals():
    """arrays of another kind are refused with a reason"""
    import cupy
    import tessera

    A, q = problems(10, 6)
    matrix, vector = by_columns(A), cupy.asarray(q)
    x = cupy.zeros_like(vector)
    for text, matrices, options in (
        ('x is missing', matrix, dict(x=None)),
        ('x is not in double', matrix, dict(x=x.astype('f'))),
        ('x has the shape', matrix, dict(x=x[:5])),
        ('x is not contiguous', matrix, dict(x=cupy.zeros((6, 10)).T)),
        ('x is not where', matrix, dict(x=x.get())),
        ('upper is not where', matrix, dict(x=x, upper=q)),
        ('by columns, is not contiguous', cupy.ascontiguousarray(matrix), dict(x=x)),
    ):
        try:
            tessera.lcp_solve_batch(matrices, vector, **options)
        except ValueError as error:
            assert text in str(error), error
        else:
            raise AssertionError('accepted: %s' % text)
    try:
        tessera.lcp_solve_batch(A, q, x=x)
    except ValueError as error:
        assert 'x is not where' in str(error), error
    else:
        raise AssertionError('accepted: x on the device, the rest on the host')


def vectors():
    """a solve whose right-hand side and solution are arrays of CuPy"""
    import cupy
    import numpy as np
    import tessera  # noqa: F401
    from petsc4py import PETSc

    if not PETSc.Sys.hasExternalPackage('cuda'):
        return print('only with a PETSc that has CUDA')
    n = 129
    grid = PETSc.DMDA().create([n, n], stencil_width=1)
    grid.setMatType('aijcusparse')
    A = grid.createMat()
    for j in range(n):
        for i in range(n):
            row = i + n * j
            A.setValue(row, row, 4.0)
            for di, dj in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                if 0 <= i + di < n and 0 <= j + dj < n:
                    A.setValue(row, row + di + n * dj, -1.0)
    A.assemble()
    b = cupy.asarray(np.random.default_rng(5).standard_normal(n * n))
    x = cupy.zeros_like(b)
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType('cg')
    ksp.getPC().setType('rrb')
    ksp.setTolerances(rtol=1e-10)
    right, solution = PETSc.Vec().createWithDLPack(b), PETSc.Vec().createWithDLPack(x)
    ksp.solve(right, solution)
    assert ksp.getConvergedReason() > 0
    y = x.reshape(n, n)
    r = b.reshape(n, n) - 4 * y
    r[1:] += y[:-1]
    r[:-1] += y[1:]
    r[:, 1:] += y[:, :-1]
    r[:, :-1] += y[:, 1:]
    relative = float(cupy.sqrt((r * r).sum() / (b * b).sum()))
    assert relative < 1e-8, relative


CASES = [answers, finished, backends, managed, streams, copies, refusals, vectors]


if __name__ == '__main__':
    if len(sys.argv) == 1:
        print(*[case.__name__ for case in CASES])
    elif sys.argv[1] == '--missing':
        print(missing())
    elif '--text' in sys.argv:
        print(inspect.getdoc(globals()[sys.argv[1]]))
    else:
        globals()[sys.argv[1]]()
