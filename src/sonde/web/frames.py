"""Binary answers: a header in JSON, then columns of numbers as the browser's typed arrays.

Four bytes say how long the header is (little-endian). The header is padded with spaces, so that
what follows begins at a multiple of eight; the offset of each column counts from there, and is a
multiple of eight, too. A column is described by its offset, its length in values, its type, and a
scale where the values are whole numbers: the number that is meant is the value times the scale.
What is not known is NaN, 255 in a u8 and 65535 in a u16.
"""

import json
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sonde.drawing.printable import writable

MEDIA_TYPE: Final = "application/octet-stream"

_ALIGNMENT = 8
_TYPES = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "f32": "<f4", "f64": "<f8"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}

Column = npt.NDArray[Any]


class FrameBuilder:
    """Gathers columns, and puts them behind a header that says where each is."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, values: Column, scale: float | None = None) -> dict[str, Any]:
        """Puts a column of one of our types at the end; what the header has to say of it."""
        column = np.ascontiguousarray(values)
        data = column.tobytes()
        place = {"offset": self._length, "length": column.size, "type": _NAMES[column.dtype]}
        rest = -len(data) % _ALIGNMENT
        self._parts += [data, bytes(rest)]
        self._length += len(data) + rest
        return place if scale is None else {**place, "scale": scale}

    def add_percent(self, values: Column) -> dict[str, Any]:
        """Percentages, to a hundredth where that holds them all; else as they are."""
        known = values[np.isfinite(values)]
        if known.size and (float(known.min()) < 0 or float(known.max()) > 650):
            return self.add(values.astype("<f4"))
        return self.add(quantized(values, 0.01, np.dtype("<u2")), 0.01)

    def build(self, header: dict[str, Any]) -> bytes:
        """The whole frame."""
        text = json.dumps(writable(header), separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-(4 + len(text)) % _ALIGNMENT)
        return b"".join((len(text).to_bytes(4, "little"), text, *self._parts))


def quantized(values: Column, scale: float, kind: np.dtype[Any]) -> Column:
    """Numbers as whole multiples of a scale; what is no number becomes the highest code."""
    unknown = int(np.iinfo(kind).max)
    with np.errstate(invalid="ignore"):
        whole = np.clip(np.rint(np.asarray(values, dtype=np.float64) / scale), 0, unknown - 1)
    return np.where(np.isnan(whole), unknown, whole).astype(kind)
