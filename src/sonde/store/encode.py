"""Encode batches of samples and rows. Standard library only: this runs in the training process.

A batch is self-contained: it describes its columns; texts are listed once and referenced by index.
Numbers are little-endian and split into byte planes, which halves the compressed size of
timestamps and slowly changing values.
"""

import json
import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, count, pairwise
from typing import Any

from sonde.store.format import INTEGER, SINGLE, TEXT, Family

_LENGTH_BYTES = 4


def encode_rows(family: Family, rows: Sequence[Sequence[Any]]) -> bytes:
    """Rows of a family, in the order of its columns."""
    return encode_columns(family, list(zip(*rows, strict=True)))


def encode_columns(family: Family, columns: Sequence[Sequence[Any]]) -> bytes:
    """Encode rows given as columns; arrays of numbers are used without conversion."""
    described, chunks = [], []
    for (name, code), values in zip(family.columns, columns, strict=True):
        if code == TEXT:
            texts, numbers = _numbered(values)
            listed = json.dumps(texts, separators=(",", ":")).encode()
            described.append([name, code, len(listed)])
            chunks += [listed, _planes(array("I", numbers))]
        else:
            described.append([name, code, 0])
            chunks.append(_planes(_numbers(code, values)))
    return _block(len(columns[0]), described, chunks)


def encode_samples(times_ns: Sequence[int], rows: Sequence[Sequence[float]]) -> bytes:
    """Encode ticks of system samples: instants, and the values series by series."""
    deltas = [times_ns[0], *(late - early for early, late in pairwise(times_ns))]
    described = [["time_ns", INTEGER, 0], ["values", SINGLE, 0]]
    return _block(len(rows), described, [_planes(array(INTEGER, deltas)), _singles(rows)])


def _singles(rows: Sequence[Sequence[float]]) -> bytes:
    """Byte planes of the values, series by series."""
    count = len(rows) * len(rows[0])
    try:
        # twice as fast as an array (benchmarks/writer.py)
        raw = struct.pack(f"<{count}f", *chain.from_iterable(zip(*rows, strict=True)))
    except OverflowError:  # too large for float32: an array turns it into infinity
        return _planes(array(SINGLE, chain.from_iterable(zip(*rows, strict=True))))
    return _split(raw, 4)


def _block(rows: int, columns: list[list[Any]], chunks: Iterable[bytes]) -> bytes:
    described = json.dumps({"rows": rows, "columns": columns}, separators=(",", ":")).encode()
    return b"".join((len(described).to_bytes(_LENGTH_BYTES, "little"), described, *chunks))


def _numbered(values: Sequence[str]) -> tuple[list[str], list[int]]:
    texts = list(dict.fromkeys(values))
    numbers_by_text = dict(zip(texts, count(), strict=False))
    return texts, list(map(numbers_by_text.__getitem__, values))


def _numbers(code: str, values: Sequence[Any]) -> "array[Any]":
    if isinstance(values, array) and values.typecode == code:
        return values
    return array(code, values)


def _planes(values: "array[Any]") -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return _split(values.tobytes(), values.itemsize)


def _split(raw: bytes, size: int) -> bytes:
    return b"".join([raw[plane::size] for plane in range(size)])
