"""Decode batches into arrays; the counterpart of encode.py."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.errors import DamagedError
from sonde.store.format import TEXT

_DTYPES = {"q": "<i8", "d": "<f8", "f": "<f4", "I": "<u4"}


@dataclass(frozen=True, slots=True)
class Text:
    """A column of texts: the distinct texts, and the index of each row's text."""

    distinct: list[str]
    numbers: npt.NDArray[np.uint32]


Column = Text | npt.NDArray[Any]


def decode_samples(payload: bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Instants, and values as (series, tick)."""
    rows, described, position = _description(payload)
    if [name for name, _, _ in described] != ["time_ns", "values"]:
        raise DamagedError("a batch of system samples has unexpected columns")
    deltas, position = _numbers(payload, position, "q", rows)
    width = (len(payload) - position) // 4 // rows if rows else 0
    values, _ = _numbers(payload, position, "f", rows * width)
    return np.cumsum(deltas, dtype=np.int64), values.reshape(width, rows)


def decode_rows(payload: bytes) -> dict[str, Column]:
    """The columns of a batch of rows."""
    rows, described, position = _description(payload)
    columns: dict[str, Column] = {}
    for name, code, listed in described:
        if code == TEXT:
            distinct = [_proper(text) for text in json.loads(payload[position : position + listed])]
            numbers, position = _numbers(payload, position + listed, "I", rows)
            columns[name] = Text(distinct, numbers)
        else:
            columns[name], position = _numbers(payload, position, code, rows)
    return columns


def _proper(text: str) -> str:
    """The text as valid Unicode: file names may contain undecodable bytes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _description(payload: bytes) -> tuple[int, list[tuple[str, str, int]], int]:
    start = 4
    end = start + int.from_bytes(payload[:start], "little")
    described = json.loads(payload[start:end])
    rows = described["rows"]
    if not isinstance(rows, int) or not 0 <= rows <= len(payload):
        raise DamagedError("a batch has an invalid number of rows")
    return rows, described["columns"], end


def _numbers(payload: bytes, position: int, code: str, count: int) -> tuple[npt.NDArray[Any], int]:
    dtype = np.dtype(_DTYPES[code])
    end = position + count * dtype.itemsize
    planes = np.frombuffer(payload, np.uint8, end - position, position)
    values = planes.reshape(dtype.itemsize, count).T.copy().view(dtype).reshape(count)
    return values, end
