"""Copy and summarize arrays without a framework: NumPy arrays, lists, plain buffers.

NumPy is used if the script has imported it, and the standard library otherwise.
"""

import math
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from sonde.store.statistics import BINS, LEVELS, LOWEST_EXPONENT, bin_of, encode_histogram
from sonde.store.tensors import RawTensor

# element types: the names of safetensors, of the buffer protocol, and of NumPy
_ELEMENTS = (
    *(("F64", "d", "float64"), ("F32", "f", "float32"), ("F16", "e", "float16")),
    *(("I64", "q", "int64"), ("I32", "i", "int32"), ("I16", "h", "int16"), ("I8", "b", "int8")),
    *(("U64", "Q", "uint64"), ("U32", "I", "uint32"), ("U16", "H", "uint16"), ("U8", "B", "uint8")),
    ("BOOL", "?", "bool"),
)
_CODES = {name: code for name, code, _ in _ELEMENTS}
_DTYPES = {name: dtype for name, _, dtype in _ELEMENTS}
_NAMES = {(code, struct.calcsize(code)): name for name, code, _ in _ELEMENTS} | {
    ("l", 4): "I32",
    ("l", 8): "I64",
    ("L", 4): "U32",
    ("L", 8): "U64",
}


def raw_of(value: Any) -> RawTensor:
    """A copy of an array-like value.

    Raises:
        TypeError: The value is not an array of real numbers.
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(value, "__array__"):
        value = numpy.asarray(value)
    if isinstance(value, int | float | list | tuple):
        return _of_numbers(value)
    view = memoryview(value)
    name = _NAMES.get((view.format.lstrip("@=<"), view.itemsize))
    if name is None:
        raise TypeError(f"unsupported element type {view.format!r}")
    return RawTensor(name, tuple(view.shape or ()), view.tobytes())


def dtype_of(raw: RawTensor) -> str:
    """The element type, with NumPy's name."""
    return _DTYPES[raw.dtype]


def statistics(raw: RawTensor) -> tuple[Any, ...]:
    """A row of statistics: counts, extremes, sums over the finite values, and a histogram."""
    code = _CODES[raw.dtype]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        return _with_numpy(numpy, numpy.frombuffer(raw.data, _DTYPES[raw.dtype]))
    count = len(raw.data) // struct.calcsize(code)
    return _in_python(struct.unpack(f"{count}{code}", raw.data))


def product(raw: RawTensor) -> float:
    """The product of all elements."""
    code = _CODES[raw.dtype]
    numbers = struct.unpack(f"{len(raw.data) // struct.calcsize(code)}{code}", raw.data)
    return math.prod(map(float, numbers))


def _of_numbers(value: Any) -> RawTensor:
    shape: list[int] = []
    inner = value
    while isinstance(inner, list | tuple):
        shape.append(len(inner))
        inner = inner[0] if inner else 0.0
    flat = list(_flat(value, shape))
    is_integral = bool(flat) and all(isinstance(number, int) for number in flat)
    numbers = array("q" if is_integral else "d", flat)
    return RawTensor("I64" if is_integral else "F64", tuple(shape), numbers.tobytes())


def _flat(value: Any, shape: list[int]) -> Iterator[float]:
    if not shape:
        yield value
        return
    if not isinstance(value, list | tuple) or len(value) != shape[0]:
        raise TypeError("rows differ in length")
    for row in value:
        yield from _flat(row, shape[1:])


def _with_numpy(numpy: Any, values: Any) -> tuple[Any, ...]:
    numbers = values.astype(numpy.float64)
    finite = numbers[numpy.isfinite(numbers)]
    magnitudes = numpy.abs(finite)
    nan = math.nan
    with numpy.errstate(over="ignore"):
        return (
            numbers.size,
            int(numpy.isnan(numbers).sum()),
            int(numpy.isinf(numbers).sum()),
            int((finite == 0).sum()),
            float(finite.min()) if finite.size else nan,
            float(finite.max()) if finite.size else nan,
            float(magnitudes.min()) if finite.size else nan,
            float(finite.sum()),
            float((finite * finite).sum()),
            float(magnitudes.sum()),
            encode_histogram(_histogram(numpy, finite[finite != 0]).tolist()),
        )


def _histogram(numpy: Any, values: Any) -> Any:
    """Counts of all bins; vectorized `bin_of`."""
    mantissas, exponents = numpy.frexp(numpy.abs(values))
    levels = 2 * (exponents.astype(numpy.int64) - 1 - LOWEST_EXPONENT) + (mantissas >= 0.75)
    levels = numpy.clip(levels, 0, LEVELS - 1)
    bins = numpy.where(values < 0, LEVELS - 1 - levels, LEVELS + levels)
    return numpy.bincount(bins, minlength=BINS)


def _in_python(values: Iterable[float]) -> tuple[Any, ...]:
    numbers = [float(value) for value in values]
    finite = [value for value in numbers if math.isfinite(value)]
    counts = [0] * BINS
    for value in finite:
        if value:
            counts[bin_of(value)] += 1
    nan = math.nan
    return (
        len(numbers),
        sum(map(math.isnan, numbers)),
        sum(map(math.isinf, numbers)),
        finite.count(0.0),
        min(finite, default=nan),
        max(finite, default=nan),
        min(map(abs, finite), default=nan),
        sum(finite),
        sum(value * value for value in finite),
        sum(map(abs, finite)),
        encode_histogram(counts),
    )
