"""What tests/python/run asks of the installed package: `cases.py NAME` runs one, `cases.py` lists them."""

import ctypes
import inspect
import os
import re
import sys
import typing


def before():
    """import tessera before PETSc is initialized"""
    import tessera  # noqa: F401
    import petsc4py

    petsc4py.init(['program'])
    from petsc4py import PETSc

    PETSc.PC().create().setType('rrb')


def after():
    """import tessera after PETSc was initialized"""
    from petsc4py import PETSc

    pc = PETSc.PC().create()
    try:
        pc.setType('rrb')
    except PETSc.Error:
        pass
    else:
        raise AssertionError('rrb is there without tessera')
    import tessera  # noqa: F401

    pc.setType('rrb')


def options():
    from petsc4py import PETSc

    PETSc.PC().create().setType('auxamg')


def objects():
    """Of each type, as functions take them."""
    import tessera  # noqa: F401
    from petsc4py import PETSc

    for prefix, make, kind in (
        ('PCRRB', PETSc.PC, 'rrb'),
        ('PCAuxAMG', PETSc.PC, 'auxamg'),
        ('PCDenseGS', PETSc.PC, 'densegs'),
        ('KSPRRB', PETSc.KSP, 'rrb'),
        ('SNESVIPMG', PETSc.SNES, 'vipmg'),
        ('SNESVIPGS', PETSc.SNES, 'vipgs'),
        ('TaoVIPMG', PETSc.TAO, 'vipmg'),
        ('TaoVIPGS', PETSc.TAO, 'vipgs'),
    ):
        made = make().create()
        made.setType(kind)
        yield prefix, made


def other(value):
    """Another value that a setter takes."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return 'points.h5'
    return type(value)(1) if value != 1 else type(value)(0 if hasattr(value, 'name') else 1)


def setters():
    """every setter sets what its getter gets"""
    import tessera

    count = 0
    for prefix, solver in objects():
        for name in dir(tessera):
            getter = name.replace('Set', 'Get', 1) if 'SNES' not in name else name.replace('Set', 'Get')
            if not name.startswith(prefix + 'Set') or not hasattr(tessera, getter):
                continue
            get, put = getattr(tessera, getter), getattr(tessera, name)
            if len(inspect.signature(put).parameters) != 2 or 'Vec' in str(inspect.signature(put)):
                continue
            value = other(get(solver))
            try:
                put(solver, value)
            except Exception as error:  # a value of another range, or of no device: the message says which
                assert re.search(r'error code (56|60|62|63)\b', str(error)), error
                continue
            assert get(solver) == value and type(get(solver)) is type(value), (name, value, get(solver))
            count += 1
    assert count > 30, count


def getters():
    """every getter answers, or says why it cannot"""
    import tessera
    from petsc4py import PETSc

    answers = refusals = 0
    for prefix, solver in objects():
        for name in dir(tessera):
            get = getattr(tessera, name)
            if name.startswith(prefix + 'Get') and len(inspect.signature(get).parameters) == 1:
                try:
                    get(solver)
                    answers += 1
                except PETSc.Error as error:
                    assert str(error).count('\n') > 1, error
                    refusals += 1
    assert answers > 40 and refusals > 5, (answers, refusals)


def hints():
    """every function and class has type hints and a docstring"""
    import tessera.functions
    from petsc4py import PETSc

    count = 0
    for name, what in vars(tessera.functions).items():
        if inspect.isfunction(what) and what.__module__ == 'tessera.functions':
            hint = typing.get_type_hints(what, globalns=dict(vars(tessera.functions), PETSc=PETSc))
            assert set(hint) == set(inspect.signature(what).parameters) | {'return'}, name
            assert len(what.__doc__ or '') > 40, name
            count += 1
        elif inspect.isclass(what) and what.__module__ == 'tessera.functions':
            assert len(what.__doc__ or '') > 20, name
    assert count > 100, count


def poisson(n):
    from petsc4py import PETSc

    grid = PETSc.DMDA().create([n, n], stencil_width=1)
    A = grid.createMat()
    for j in range(n):
        for i in range(n):
            A.setValue(i + n * j, i + n * j, 4.0)
            for di, dj in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                if 0 <= i + di < n and 0 <= j + dj < n:
                    A.setValue(i + n * j, i + di + n * (j + dj), -1.0)
    A.assemble()
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType('cg')
    ksp.getPC().setType('rrb')
    b, x = A.createVecRight(), A.createVecRight()
    b.set(1)
    ksp.solve(b, x)
    assert ksp.getConvergedReason() > 0
    return ksp.getPC()


def structures():
    """structures and arrays of what a setup has made"""
    import tessera

    pc = poisson(65)
    info, choice = tessera.PCRRBGetInfo(pc), tessera.PCRRBGetChoice(pc)
    nx, ny = tessera.PCRRBGetGridSizes(pc)
    assert info.unknowns == 65 * 65 and info.grids == len(nx) == len(ny) and (nx[0], ny[0]) == (65, 65), (info, nx, ny)
    assert 1 < info.grid_complexity < 3 and info.backend == tessera.TesseraBackend.TESSERA_BACKEND_HOST, info
    assert isinstance(choice.cycle, tessera.PCRRBCycle) and choice.measures == 'none', choice
    grid = tessera.PCRRBGetGridInfo(pc, 1)
    assert (grid.nx, grid.ny) == (nx[1], ny[1]) and len(grid.spectrum) == 2 and grid.exact is False, grid
    assert tessera.PCRRBGetFailure(pc) is None


def contact():
    """a complementarity problem with friction, its certificate, and objects that C creates"""
    import numpy as np
    import tessera
    from petsc4py import PETSc

    rng = np.random.default_rng(1)
    G = rng.standard_normal((12, 12))
    W = G @ G.T + np.eye(12)
    q = rng.standard_normal(12)
    A, b = PETSc.Mat().createDense((12, 12), array=W), PETSc.Vec().createWithArray(q)
    free, mu, x = b.duplicate(), PETSc.Vec().createWithArray(np.linspace(0.1, 0.4, 4)), b.duplicate()
    free.set(PETSc.NINFINITY)
    snes = tessera.SNESVIPGSCreateLCP(A, b, free, None)
    assert snes.getRefCount() == 1 and snes.getType() == 'vipgs'
    tessera.SNESVIPGSSetBlock(snes, 3)
    tessera.SNESVIPGSSetFriction(snes, mu)
    snes.setTolerances(rtol=1e-10)
    x.set(0)
    snes.solve(None, x)
    force = x.array.reshape(4, 3)
    assert (np.hypot(force[:, 1], force[:, 2]) <= mu.array * force[:, 0] + 1e-8).all(), force
    certificate = tessera.SNESVIPGSGetCertificate(snes)
    assert certificate.reason == tessera.SNESVIPGSReason.SNES_VIPGS_CONVERGED and certificate.relative < 1e-9
    tao = PETSc.TAO().create()
    tao.setType('vipgs')
    inner = tessera.TaoVIPGSGetSNES(tao)
    assert inner.getType() == 'vipgs' and inner.getRefCount() == 2, inner.getRefCount()


def wrong():
    """inputs of another kind are refused with a reason"""
    import numpy as np
    import tessera
    from petsc4py import PETSc

    def refused(kind, text, function, *arguments):
        try:
            function(*arguments)
        except kind as error:
            assert text in str(error), error
        else:
            raise AssertionError('accepted: %s%s' % (function.__name__, arguments))

    amli = tessera.PCRRBCycle.PC_RRB_CYCLE_AMLI
    refused(TypeError, 'PETSc.PC', tessera.PCRRBSetCycle, PETSc.KSP().create(), amli)
    refused(TypeError, 'PETSc.Tao', tessera.TaoVIPMGGetOmega, PETSc.SNES().create())
    refused(TypeError, 'PETSc.Vec', tessera.SNESVIPGSSetFriction, PETSc.SNES().create(), np.ones(3))
    refused(ValueError, '(3, 3)', tessera.lcp_solve_batch, np.eye(3), np.ones((1, 3)))
    refused(ValueError, '(3,)', tessera.lcp_solve_batch, np.eye(3)[None], np.ones(3))


class Device:
    """An array of the host that says it is on a CUDA device."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def swapaxes(self, a, b):
        return Device(self.array.swapaxes(a, b))

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self):
        from tessera.lcp import _Tensor

        capsule = self.array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
        _Tensor.from_address(pointer(capsule, b'dltensor')).device = 2
        return capsule


def batch():
    """batches of complementarity problems on arrays that know DLPack"""
    import numpy as np
    import tessera
    from petsc4py import PETSc

    rng = np.random.default_rng(2)
    G, q = rng.standard_normal((40, 5, 5)), rng.standard_normal((40, 5))
    A = G @ G.swapaxes(1, 2) + np.eye(5)
    A[:, 0, 1] += 0.3  # not symmetric, so that rows and columns are told apart
    x, residual, unsolved = tessera.lcp_solve_batch(A, q)
    w = np.einsum('kij,kj->ki', A, x) + q
    assert unsolved == 0 and residual.max() <= 1e-8 and x.min() >= 0 and w.min() > -1e-6 and abs(x * w).max() < 1e-6
    y = np.full_like(q, 3.0)
    again = tessera.lcp_solve_batch(A.astype(np.float32), q.astype(np.float32), -np.ones_like(q), np.ones_like(q), y)
    assert again.x is y and y.min() >= -1 and y.max() <= 1 and again.unsolved == 0, y
    vectors = np.zeros((5, 40)).T, np.zeros(200), q.astype(np.float32)
    for wrong in [dict(x=v) for v in vectors] + [dict(upper=Device(q))]:
        try:
            tessera.lcp_solve_batch(A, q, **wrong)
        except (ValueError, RuntimeError):
            continue
        raise AssertionError('accepted: %s' % wrong)
    if os.environ['TESSERA_CUDA'] == '1':  # the arrays are not on a device
        return
    z = np.zeros_like(q)
    device = [Device(a) for a in (np.ascontiguousarray(A.swapaxes(1, 2)).swapaxes(1, 2), q, z)]
    try:
        tessera.lcp_solve_batch(*device[:2], x=device[2])
    except PETSc.Error as error:
        assert os.environ['TESSERA_CUDA'] == '0' and 'Pass arrays of the host' in str(error), error
    else:
        assert os.environ['TESSERA_CUDA'] == 'emulate' and abs(z - x).max() < 1e-6, abs(z - x).max()


CASES = [before, after, setters, getters, hints, structures, contact, wrong, batch]


if __name__ == '__main__':
    if len(sys.argv) == 1:
        print(*[case.__name__ for case in CASES])
    elif '--text' in sys.argv:
        print(inspect.getdoc(globals()[sys.argv[1]]))
    else:
        globals()[sys.argv[1]]()
