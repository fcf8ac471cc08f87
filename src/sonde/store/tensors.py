"""Full tensors as safetensors files: one per saved step and worker, with a checksum.

Implemented with the standard library because it runs in the training process; any safetensors
reader opens the files.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonde.errors import DamagedError
from sonde.store.format import FORMAT_VERSION, refuse_newer_format
from sonde.store.limits import MAX_HEADER_BYTES

_LENGTH_BYTES = 8
_ALIGNMENT = 8

# The checksum is first in the header, so that it can be found without trusting the rest.
_METADATA_BEFORE = b'{"__metadata__":{'
_CHECKSUM_BEFORE = _METADATA_BEFORE + b'"crc32":"'
_CHECKSUM_BYTES = 8
_CHECKSUM_AFTER = b'",'
_CHECKSUM_AT = _LENGTH_BYTES + len(_CHECKSUM_BEFORE)
_AFTER = _CHECKSUM_AT + _CHECKSUM_BYTES

# It is followed by a checksum of the rest of the header, which is often read without the tensors.
_HEADER_BEFORE = _CHECKSUM_AFTER + b'"header":"'
_HEADER_CHECKSUM_BYTES = len(_HEADER_BEFORE) + _CHECKSUM_BYTES + len(_CHECKSUM_AFTER)


@dataclass(frozen=True, slots=True)
class RawTensor:
    """An array in safetensors terms: element type (F32, BF16, I64, …), shape, bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes | memoryview


def encode_tensors(tensors: Mapping[str, RawTensor], facts: Mapping[str, str]) -> bytes:
    """Encode a safetensors file; facts are stored in its header."""
    return b"".join(parts_of_file(tensors, facts))


def parts_of_file(
    tensors: Mapping[str, RawTensor], facts: Mapping[str, str]
) -> list[bytes | memoryview]:
    """The chunks of the file, including the tensors' memory without a copy."""
    header: dict[str, Any] = {}
    position = 0
    for name, tensor in tensors.items():
        end = position + len(tensor.data)
        header[name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [position, end],
        }
        position = end
    metadata = {**facts, "format": str(FORMAT_VERSION)}
    text = json.dumps({"__metadata__": metadata, **header}, separators=(",", ":")).encode()
    described = text.removeprefix(_METADATA_BEFORE)
    length = _AFTER + _HEADER_CHECKSUM_BYTES - _LENGTH_BYTES + len(described)
    described += b" " * (-length % _ALIGNMENT)
    length += -length % _ALIGNMENT
    rest = _HEADER_BEFORE + _checksum(described) + _CHECKSUM_AFTER + described
    before = length.to_bytes(_LENGTH_BYTES, "little") + _CHECKSUM_BEFORE
    after = (rest, *(tensor.data for tensor in tensors.values()))
    return [before, _checksum(before, *after), *after]


def decode_tensors(data: bytes, key: str) -> tuple[dict[str, RawTensor], dict[str, str]]:
    """Decode the tensors of a file and the facts in its header."""
    before, stated, after = (
        data[:_CHECKSUM_AT],
        data[_CHECKSUM_AT:_AFTER],
        memoryview(data)[_AFTER:],
    )
    if not before.endswith(_CHECKSUM_BEFORE) or stated != _checksum(before, after):
        raise DamagedError(f"{key} is damaged: its checksum does not match")
    length = header_bytes(data, key)
    body = memoryview(data)[length:]
    try:
        header = json.loads(data[_LENGTH_BYTES:length])
        metadata = header.pop("__metadata__")
        del metadata["crc32"]
        metadata.pop("header", None)
        version, stated_key = int(metadata.pop("format")), metadata.pop("key", key)
        tensors = {name: _tensor(described, body) for name, described in header.items()}
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedError(f"{key} is damaged: {error!r:.200}") from error
    refuse_newer_format(version, key)
    if stated_key != key:
        raise DamagedError(f"{key} is damaged: it is a copy of {stated_key}")
    return tensors, metadata


def _tensor(described: Mapping[str, Any], body: memoryview) -> RawTensor:
    first, last = described["data_offsets"]
    shape = tuple(int(size) for size in described["shape"])
    if not 0 <= first <= last <= len(body) or min(shape, default=0) < 0:
        raise ValueError("a tensor exceeds the file")
    return RawTensor(str(described["dtype"]), shape, bytes(body[first:last]))


def header_bytes(first: bytes, key: str) -> int:
    """The length of a file's header including the length field, from its first bytes."""
    length = int.from_bytes(first[:_LENGTH_BYTES], "little")
    if len(first) < _LENGTH_BYTES or length > MAX_HEADER_BYTES:
        raise DamagedError(f"{key} is damaged: invalid header")
    return _LENGTH_BYTES + length


@dataclass(frozen=True, slots=True)
class Header:
    """The tensors and the expected size of a file."""

    names: tuple[str, ...]
    size: int


def read_header(header: bytes, key: str) -> Header:
    """Read and verify the header; the tensors are verified when they are read."""
    before, after = header[:_AFTER], header[_AFTER:]
    is_checked = after.startswith(_HEADER_BEFORE)  # missing in earlier versions
    stated = after[len(_HEADER_BEFORE) : len(_HEADER_BEFORE) + _CHECKSUM_BYTES]
    is_intact = not is_checked or stated == _checksum(after[_HEADER_CHECKSUM_BYTES:])
    if not before[_LENGTH_BYTES:].startswith(_CHECKSUM_BEFORE) or not is_intact:
        raise DamagedError(f"{key} is damaged: the checksum of its header does not match")
    try:
        described = json.loads(header[_LENGTH_BYTES:])
        stated_key = described.pop("__metadata__").get("key", key)
        names = tuple(described)
        end = max((int(tensor["data_offsets"][1]) for tensor in described.values()), default=0)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedError(f"{key} is damaged: invalid header") from error
    if stated_key != key:
        raise DamagedError(f"{key} is damaged: it is a copy of {stated_key}")
    return Header(names, len(header) + end)


def _checksum(*pieces: bytes | memoryview) -> bytes:
    """The checksum of several chunks."""
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    return f"{checksum:08x}".encode()
