"""Binary replies: a JSON header followed by columns of numbers for typed arrays.

The first four bytes hold the length of the header (little-endian). The header is padded with
spaces, so that the data after it starts at a multiple of eight. Column offsets count from there
and are also multiples of eight. The header describes each column by its offset, length, type and,
for quantized values, scale: the actual number is the value times the scale. Missing values are
NaN in floats, 255 in u8 and 65535 in u16.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sonde.drawing.printable import replace_non_finite

MEDIA_TYPE: Final = "application/octet-stream"

_ALIGNMENT = 8
_TYPES = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "f32": "<f4", "f64": "<f8"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}

Column = npt.NDArray[Any]


class FrameBuilder:
    """Collects columns and writes them after a header that describes them."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._length = 0

    def add(self, values: Column, scale: float | None = None) -> dict[str, Any]:
        """Append a column and return its description for the header."""
        column = np.ascontiguousarray(values)
        data = column.tobytes()
        description = {"offset": self._length, "length": column.size, "type": _NAMES[column.dtype]}
        padding = -len(data) % _ALIGNMENT
        self._chunks += [data, bytes(padding)]
        self._length += len(data) + padding
        return description if scale is None else {**description, "scale": scale}

    def add_percent(self, values: Column) -> dict[str, Any]:
        """Append percentages, quantized to 0.01 if the range allows it."""
        finite = values[np.isfinite(values)]
        if finite.size and (float(finite.min()) < 0 or float(finite.max()) > 650):
            return self.add(values.astype("<f4"))
        return self.add(quantized(values, 0.01, np.dtype("<u2")), 0.01)

    def build(self, header: dict[str, Any]) -> bytes:
        """The complete frame."""
        return whole_frame(header, b"".join(self._chunks))


def whole_frame(header: Mapping[str, Any], columns: bytes) -> bytes:
    """A frame from its header and the bytes of its columns."""
    document = replace_non_finite(dict(header))
    text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % _ALIGNMENT)
    return b"".join((len(text).to_bytes(4, "little"), text, columns))


def split_frame(frame: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of a frame and the bytes of its columns."""
    end = 4 + int.from_bytes(frame[:4], "little")
    header: dict[str, Any] = json.loads(frame[4:end])
    return header, frame[end:]


def quantized(values: Column, scale: float, kind: np.dtype[Any]) -> Column:
    """Numbers as integer multiples of a scale; NaN becomes the largest code."""
    unknown = int(np.iinfo(kind).max)
    with np.errstate(invalid="ignore"):
        codes = np.clip(np.rint(np.asarray(values, dtype=np.float64) / scale), 0, unknown - 1)
    return np.where(np.isnan(codes), unknown, codes).astype(kind)
