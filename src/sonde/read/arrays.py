"""Saved tensors as numpy arrays, without loss of precision.

numpy has no bfloat16 and no 8-bit floats: they become float32, which represents all their values
exactly.
"""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.errors import StoreError
from sonde.store.tensors import RawTensor

_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "C64": "<c8",
    "BOOL": "?",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "u1",
}

# bits of the exponent, bits of the mantissa, exponent bias
_SMALL_FLOATS = {
    "F8_E4M3": (4, 3, 7),
    "F8_E5M2": (5, 2, 15),
    "F8_E4M3FNUZ": (4, 3, 8),
    "F8_E5M2FNUZ": (5, 2, 16),
}


def to_array(tensor: RawTensor) -> npt.NDArray[Any]:
    """The tensor's values; bfloat16 and 8-bit floats as float32."""
    if tensor.dtype in _DTYPES:
        values = np.frombuffer(tensor.data, np.dtype(_DTYPES[tensor.dtype]))
    elif tensor.dtype == "BF16":
        # a bfloat16 is the upper half of a float32
        halves = np.frombuffer(tensor.data, np.dtype("<u2"))
        values = (halves.astype(np.uint32) << 16).view(np.float32)
    elif tensor.dtype in (*_SMALL_FLOATS, "F8_E8M0"):
        values = _eight_bit_values(tensor.dtype)[np.frombuffer(tensor.data, np.uint8)]
    else:
        raise StoreError(
            f"Cannot read tensors of type {tensor.dtype}. Upgrade with: pip install -U sonde"
        )
    return values.reshape(tensor.shape)


@cache
def _eight_bit_values(dtype: str) -> npt.NDArray[np.float32]:
    """The value of each of the 256 codes."""
    codes = np.arange(256)
    if dtype == "F8_E8M0":
        with np.errstate(under="ignore"):
            values = np.ldexp(np.float64(1), codes - 127)
        values[255] = np.nan
        return values.astype(np.float32)
    exponent_bits, mantissa_bits, bias = _SMALL_FLOATS[dtype]
    exponents = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissas = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    is_normal = exponents > 0
    values = np.ldexp(mantissas + is_normal, np.maximum(exponents, 1) - bias)
    values = np.where(codes >= 128, -values, values)
    return _with_specials(dtype, values).astype(np.float32)


def _with_specials(dtype: str, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if dtype.endswith("FNUZ"):  # no infinities, no negative zero
        values[0x80] = np.nan
    elif dtype == "F8_E4M3":  # no infinities
        values[[0x7F, 0xFF]] = np.nan
    else:
        values[[0x7C, 0xFC]] = np.inf, -np.inf
        values[[*range(0x7D, 0x80), *range(0xFD, 0x100)]] = np.nan
    return values
