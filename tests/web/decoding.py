"""Decode binary frames as a browser does."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt

_TYPES = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "f32": "<f4", "f64": "<f8"}


def decode_frame(frame: bytes) -> tuple[dict[str, Any], memoryview]:
    """Return the header and the bytes that its offsets refer to."""
    start = 4 + int.from_bytes(frame[:4], "little")
    header: dict[str, Any] = json.loads(frame[4:start])
    return header, memoryview(frame)[start:]


def column_of(index: dict[str, Any], data: memoryview) -> npt.NDArray[Any]:
    """Return a column as numbers, with missing values as NaN."""
    kind = np.dtype(_TYPES[index["type"]])
    values = np.frombuffer(data, kind, index["length"], index["offset"])
    if "scale" not in index:
        return values
    unknown = values == np.iinfo(kind).max
    return np.asarray(np.where(unknown, np.nan, values * index["scale"]))
