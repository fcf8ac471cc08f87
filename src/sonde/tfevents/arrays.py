"""Tensors in event files, as NumPy arrays."""

from collections.abc import Iterable
from math import prod

import numpy as np
import numpy.typing as npt

from sonde.tfevents.wire import Field, fields, packed

Array = npt.NDArray[np.generic]

_DTYPES = {
    1: "<f4",
    2: "<f8",
    3: "<i4",
    4: "u1",
    5: "<i2",
    6: "i1",
    8: "<c8",
    9: "<i8",
    10: "?",
    17: "<u2",
    18: "<c16",
    19: "<f2",
    22: "<u4",
    23: "<u8",
}
_STRING, _HALF = 7, 19
_TYPE, _SHAPE, _CONTENT = 1, 2, 4
# fields that hold a few elements instead of the raw bytes
_FLOATS = {5: "<f4", 6: "<f8"}
_INTEGERS = (7, 10, 11, 13, 16, 17)
_MAX_ELEMENTS = 1 << 28


def decode_array(message: bytes) -> Array | None:
    """Decode a tensor; None if its elements are not numbers.

    Raises:
        ValueError: It is truncated or damaged, or has an unsupported element type.
    """
    parts: dict[int, Field] = {}
    elements: list[float] = []
    for part in fields(message):
        parts[part.number] = part
        elements += _elements(part)
    code = parts[_TYPE].unsigned if _TYPE in parts else 0
    if code == _STRING:
        return None
    if code not in _DTYPES:
        raise ValueError(f"a tensor has the unsupported element type {code}")
    shape = _shape(parts[_SHAPE].content) if _SHAPE in parts else ()
    if _CONTENT in parts:
        return np.frombuffer(parts[_CONTENT].content, _DTYPES[code]).reshape(shape)
    return _filled(_of_elements(elements, code), shape)


def _of_elements(elements: Iterable[float], code: int) -> Array:
    dtype = np.dtype(_DTYPES[code])
    if code == _HALF:  # given as the bits of each element
        return np.array(elements, dtype=np.int64).astype(np.uint16).view(dtype)
    with np.errstate(all="ignore"):
        return np.array(elements, dtype=np.float64 if dtype.kind in "fc" else None).astype(dtype)


def _filled(values: Array, shape: tuple[int, ...]) -> Array:
    """An array of this shape; one element stands for all."""
    if values.size == 1 and prod(shape) <= _MAX_ELEMENTS:
        return np.full(shape, values[0])
    return values.reshape(shape)


def _shape(message: bytes) -> tuple[int, ...]:
    dimensions = [part.content for part in fields(message) if part.number == 2]
    sizes = [{each.number: each.signed for each in fields(dimension)} for dimension in dimensions]
    shape = tuple(size.get(1, 0) for size in sizes)
    if min(shape, default=0) < 0:
        raise ValueError("a tensor has an unknown shape")
    return shape


def _elements(part: Field) -> list[float]:
    """The elements in a field, which may be packed."""
    if part.number in _FLOATS:
        return [float(element) for element in np.frombuffer(part.content, _FLOATS[part.number])]
    if part.number in _INTEGERS:
        return [element.signed for element in packed(part.content)] or [part.signed]
    return []
