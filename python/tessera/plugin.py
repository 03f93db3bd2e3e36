"""The library: where it is, how it gets into petsc4py's PETSc, and how its functions are called."""

from __future__ import annotations

import ctypes
import enum
import os
import sys
import typing
from typing import Any, Callable, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
CLASSES = {'Tao': 'TAO'}  # of PETSc -> of petsc4py, where the names differ


def path() -> str:
    """The path of the shared library, for ``-dll_append``."""
    return os.path.join(HERE, 'lib', 'libtessera.so')


def include() -> str:
    """The folder of tessera.h."""
    return os.path.join(HERE, 'include')


def options() -> str:
    """The words for PETSC_OPTIONS or a command line that load the library into any program with the same PETSc."""
    return '-dll_append ' + path()


# PETSc itself is reached through the library too: it is the one that the library was linked with.
_library = ctypes.CDLL(path())


def _size(name: str) -> int:
    """The bytes of PETSc's data type of this name."""
    kind, found, size = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    _library.PetscDataTypeFromString(name.encode(), ctypes.byref(kind), ctypes.byref(found))
    _library.PetscDataTypeGetSize(kind, ctypes.byref(size))
    return size.value


PetscInt: Any = {4: ctypes.c_int32, 8: ctypes.c_int64}[_size('int')]
PetscBool: Any = {1: ctypes.c_bool, 4: ctypes.c_int}[_size('bool')]
PetscReal: Any = ctypes.c_double


def _initialized() -> bool:
    flag = PetscBool()
    _library.PetscInitialized(ctypes.byref(flag))
    return bool(flag.value)


def load() -> None:
    """Adds Tessera's types to PETSc, at once or, where PETSc is not initialized yet, as soon as it is.

    ``import tessera`` has called it. A program calls it again where it has finalized PETSc and initialized it anew.
    """
    module = sys.modules.get('petsc4py.PETSc')
    if module and module.Sys.isInitialized() and not _initialized():
        raise ImportError(
            "petsc4py's PETSc (%s) is not the one that Tessera was built for. Install Tessera again with PETSC_DIR and "
            'PETSC_ARCH of that PETSc' % sys.modules['petsc4py'].get_config().get('PETSC_DIR')
        )
    if not _initialized():
        _check(_library.PetscOptionsSetValue(None, b'-dll_append', path().encode()))
    else:
        _check(_library.TesseraInitializePackage())


def _petsc4py(function: str, result: Any, argument: Any) -> Any:
    """A function of petsc4py's own interface for C."""
    from petsc4py import PETSc

    capsule = PETSc.__pyx_capi__[function]
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.argtypes, name.restype = [ctypes.py_object], ctypes.c_char_p
    pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    return ctypes.PYFUNCTYPE(result, argument)(pointer(capsule, name(capsule)))


def _check(error: int) -> None:
    """Raises PETSc.Error with the messages that PETSc has gathered."""
    if error:
        _petsc4py('PyPetscError_Set', ctypes.c_int, ctypes.c_int)(error)


def _ctype(hint: Any) -> Any:
    """What C has for a field of a structure."""
    if isinstance(hint, type) and issubclass(hint, enum.IntEnum):
        return ctypes.c_int
    if typing.get_args(hint):
        return PetscReal * len(typing.get_args(hint))
    return {int: PetscInt, float: PetscReal, bool: PetscBool, str: ctypes.c_char_p}[hint]


def _value(hint: Any, c: Any) -> Any:
    if isinstance(c, ctypes.Array):
        return tuple(c)
    return (c or b'').decode() if hint is str else hint(c)


def _structure(kind: Any) -> 'tuple[Any, Callable[[Any], Any]]':
    """The structure of C for a NamedTuple, and the way back."""
    hints = typing.get_type_hints(kind)
    c = type(kind.__name__, (ctypes.Structure,), {'_fields_': [(name, _ctype(hint)) for name, hint in hints.items()]})
    return c(), lambda s: kind(*[_value(hint, getattr(s, name)) for name, hint in hints.items()])


def _object(kind: str, owned: bool) -> 'tuple[Any, Callable[[Any], Any]]':
    """A pointer to an object of PETSc, and its way into petsc4py, which takes a reference of its own."""
    wrap = _petsc4py('PyPetsc%s_New' % kind, ctypes.py_object, ctypes.c_void_p)

    def made(p: Any) -> Any:
        if not p:
            return None
        result = wrap(p)
        if owned:
            _check(_library.PetscObjectDereference(p))
        return result

    return ctypes.c_void_p(), made


def handle(kind: str, value: Any) -> Any:
    """The pointer of an input of this class of PETSc, or NULL for None. PETSc's functions would take any object without
    a word, and do nothing."""
    from petsc4py import PETSc

    if value is not None and not isinstance(value, getattr(PETSc, CLASSES.get(kind, kind))):
        raise TypeError('a PETSc.%s is wanted, and there is a %s' % (kind, type(value).__name__))
    return None if value is None else ctypes.c_void_p(value.handle)


def _output(kind: Any, owned: bool) -> 'tuple[Any, Callable[[Any], Any]]':
    """What C writes an output to, and what is made of it."""
    if isinstance(kind, str):
        return _object(kind, owned)
    if kind is str:
        return ctypes.c_char_p(), lambda c: None if c.value is None else c.value.decode()
    if kind is list:  # as long as the first output says
        return ctypes.POINTER(PetscInt)(), lambda c: c
    if kind is bool:
        return PetscBool(), lambda c: bool(c.value)
    if issubclass(kind, tuple):
        return _structure(kind)
    if issubclass(kind, enum.IntEnum):
        return ctypes.c_int(), lambda c: kind(c.value)
    if issubclass(kind, ctypes.Array):
        return kind(), tuple
    return kind(), lambda c: c.value


def call(function: str, *inputs: Any, out: Sequence[Any] = ()) -> Any:
    """Calls a function of the library; an error is a PETSc.Error.

    Parameters
    ----------
    function
        its name in C
    inputs
        what `handle()` makes of objects, None for NULL, text, or what ctypes takes
    out
        the kinds of what it writes behind its inputs: a type of ctypes, ``bool``, ``str``, an enumeration, a NamedTuple, the
        name of a class of PETSc; ``list`` for arrays, whose length is the first output, which is not returned then
    """
    arguments = [value.encode() if isinstance(value, str) else value for value in inputs]
    outputs = [_output(kind, 'Create' in function) for kind in out]
    _check(getattr(_library, function)(*arguments, *[ctypes.byref(c) for c, _ in outputs]))
    results = [value(c) for c, value in outputs]
    if list in out:
        results = [result[: results[0]] for result in results[1:]]
    return results[0] if len(results) == 1 else tuple(results) if results else None
