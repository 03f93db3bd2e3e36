"""Batches of linear complementarity problems on arrays of the host or of a device."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import numpy as np

from .functions import TesseraBackend
from .plugin import PetscInt, PetscReal, call

MEMORY = {1: 0, 2: 1, 3: 0, 11: 0, 13: 1}  # DLPack's kind of device -> PetscMemType: host or CUDA


class LCPResult(NamedTuple):
    """What ``lcp_solve_batch()`` returns."""

    x: Any
    residual: 'np.ndarray[Any, Any]'
    unsolved: int


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h, with which its DLManagedTensor begins."""

    _fields_ = [
        ('data', ctypes.c_void_p),
        ('device', ctypes.c_int),
        ('device_id', ctypes.c_int),
        ('ndim', ctypes.c_int),
        ('code', ctypes.c_uint8),
        ('bits', ctypes.c_uint8),
        ('lanes', ctypes.c_uint16),
        ('shape', ctypes.POINTER(ctypes.c_int64)),
        ('strides', ctypes.POINTER(ctypes.c_int64)),
        ('offset', ctypes.c_uint64),
    ]


def _address(name: str, array: Any, shape: 'tuple[int, ...]', device: 'tuple[int, int]') -> Any:
    """Where the numbers lie: an array of double precision, contiguous, of this shape and on this device."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    capsule = array.__dlpack__()
    t = _Tensor.from_address(pointer(capsule, b'dltensor'))
    found = tuple(t.shape[: t.ndim])
    if found != shape:
        raise ValueError('%s has the shape %s, not %s' % (name, found, shape))
    if (t.code, t.bits, t.lanes) != (2, 64, 1):
        raise ValueError('%s is not in double precision' % name)
    if MEMORY.get(t.device) != MEMORY[device[0]] or (MEMORY[device[0]] and t.device_id != device[1]):
        raise ValueError('%s is not where the other arrays are' % name)
    step = 1
    for k in reversed(range(t.ndim)):
        if t.strides and found[k] > 1 and t.strides[k] != step:
            raise ValueError('%s is not contiguous' % name)
        step *= found[k]
    return ctypes.c_void_p(t.data + t.offset)


def _host(array: Any) -> 'np.ndarray[Any, Any]':
    """A copy of an array of the host, as the library wants it."""
    return np.array(array if isinstance(array, np.ndarray) else np.from_dlpack(array), dtype=float, order='C')


def lcp_solve_batch(
    A: Any,
    q: Any,
    lower: Optional[Any] = None,
    upper: Optional[Any] = None,
    x: Optional[Any] = None,
    *,
    rtol: float = 1e-8,
    sweeps: int = 100,
    backend: TesseraBackend = TesseraBackend.TESSERA_BACKEND_AUTO,
) -> LCPResult:
    """Solves many small problems of the same size at once: x between its bounds, A x + q complementary to them.

    Parameters
    ----------
    A
        the matrices, problems x n x n. Any array that knows DLPack (NumPy, CuPy, PyTorch, JAX), on the host or on a
        CUDA device. On a device all are contiguous and in double precision, and the matrices lie by columns: pass
        ``cupy.ascontiguousarray(A.swapaxes(1, 2)).swapaxes(1, 2)``, or ``A.swapaxes(1, 2)`` of symmetric ones.
    q
        the vectors, problems x n
    lower, upper
        bounds, problems x n; None: zero, and none
    x
        first guesses, which answers replace; None, on the host alone: zero
    rtol
        a problem is solved when \\|x - P(x - F(x))\\| is at most rtol \\|q\\|
    sweeps
        of Gauss-Seidel, at most; the method of active sets solves what is left, on the host
    backend
        where to solve: where the arrays are, on the host or on a device

    Returns
    -------
    LCPResult
        x, the relative residual of each problem, and the number of problems that have not reached rtol
    """
    from petsc4py import PETSc  # noqa: F401  PETSc is initialized then: it knows the device of this process

    kind, number = A.__dlpack_device__()
    device = int(kind), int(number)
    if device[0] not in MEMORY:
        raise ValueError("A is on a device that Tessera does not know: DLPack's kind %d" % device[0])
    if len(A.shape) != 3 or A.shape[1] != A.shape[2]:
        raise ValueError('A has the shape %s: it is to be problems x n x n' % (tuple(A.shape),))
    if len(q.shape) != 2:
        raise ValueError('q has the shape %s: it is to be problems x n' % (tuple(q.shape),))
    by_columns = A.swapaxes(1, 2)
    if MEMORY[device[0]] == 0:
        by_columns, q, lower, upper = (a if a is None else _host(a) for a in (by_columns, q, lower, upper))
        x = np.zeros_like(q) if x is None else x
    elif x is None:
        raise ValueError('x is missing: on a device the answers need an array')
    count, n = (int(s) for s in q.shape)
    residual = np.zeros(count)
    vectors = [
        None if a is None else _address(name, a, (count, n), device)
        for name, a in (('q', q), ('lower', lower), ('upper', upper))
    ]
    unsolved = call(
        'TesseraLCPSolveBatch',
        PetscInt(count),
        PetscInt(n),
        _address('A, by columns,', by_columns, (count, n, n), device),
        *vectors,
        ctypes.c_int(MEMORY[device[0]]),
        backend,
        PetscReal(rtol),
        PetscInt(sweeps),
        _address('x', x, (count, n), device),
        residual.ctypes.data_as(ctypes.c_void_p),
        out=[PetscInt],
    )
    return LCPResult(x, residual, unsolved)
