"""Full tensors as safetensors files: one per saved step and worker, with a checksum inside.

Written by hand because it runs inside training on the standard library; any safetensors reader
opens the files.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonde.errors import DamagedError
from sonde.store.format import FORMAT_VERSION, refuse_newer_format

_LENGTH_BYTES = 8
_ALIGNMENT = 8

# The checksum is the first thing in the header, so that it is found without trusting the rest.
_METADATA_BEFORE = b'{"__metadata__":{'
_CHECKSUM_BEFORE = _METADATA_BEFORE + b'"crc32":"'
_CHECKSUM_BYTES = 8
_CHECKSUM_AFTER = b'",'
_CHECKSUM_AT = _LENGTH_BYTES + len(_CHECKSUM_BEFORE)
_AFTER = _CHECKSUM_AT + _CHECKSUM_BYTES


@dataclass(frozen=True, slots=True)
class RawTensor:
    """An array as safetensors names it: element type (F32, BF16, I64, …), shape, bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes | memoryview


def encode_tensors(tensors: Mapping[str, RawTensor], facts: Mapping[str, str]) -> bytes:
    """A safetensors file; facts are texts kept in its header."""
    return b"".join(parts_of_file(tensors, facts))


def parts_of_file(
    tensors: Mapping[str, RawTensor], facts: Mapping[str, str]
) -> list[bytes | memoryview]:
    """The same in parts, the tensors' own memory among them: nothing large is copied."""
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
    rest = _CHECKSUM_AFTER + text.removeprefix(_METADATA_BEFORE)
    length = len(_CHECKSUM_BEFORE) + _CHECKSUM_BYTES + len(rest)
    rest += b" " * (-length % _ALIGNMENT)
    length += -length % _ALIGNMENT
    before = length.to_bytes(_LENGTH_BYTES, "little") + _CHECKSUM_BEFORE
    after = (rest, *(tensor.data for tensor in tensors.values()))
    return [before, _checksum(before, *after), *after]


def decode_tensors(data: bytes, key: str) -> tuple[dict[str, RawTensor], dict[str, str]]:
    """The tensors of a file and the facts in its header."""
    before, stated, after = (
        data[:_CHECKSUM_AT],
        data[_CHECKSUM_AT:_AFTER],
        memoryview(data)[_AFTER:],
    )
    if not before.endswith(_CHECKSUM_BEFORE) or stated != _checksum(before, after):
        raise DamagedError(f"{key} is damaged: its checksum does not match")
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    body = memoryview(data)[_LENGTH_BYTES + length :]
    header = json.loads(data[_LENGTH_BYTES : _LENGTH_BYTES + length])
    metadata = header.pop("__metadata__")
    del metadata["crc32"]
    refuse_newer_format(int(metadata.pop("format")), key)
    tensors = {
        name: RawTensor(one["dtype"], tuple(one["shape"]), bytes(body[slice(*one["data_offsets"])]))
        for name, one in header.items()
    }
    return tensors, metadata


def header_bytes(first: bytes) -> int:
    """How long the header of a file is, its length included, from the first bytes of the file."""
    return _LENGTH_BYTES + int.from_bytes(first[:_LENGTH_BYTES], "little")


def names_in(header: bytes, key: str) -> tuple[str, ...]:
    """The tensors of a file, from its header alone, which is not checked."""
    try:
        names = json.loads(header[_LENGTH_BYTES:])
    except ValueError as error:
        raise DamagedError(f"{key} is damaged: its header cannot be read") from error
    return tuple(name for name in names if name != "__metadata__")


def _checksum(*pieces: bytes | memoryview) -> bytes:
    """Over all bytes but those of the checksum itself."""
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    return f"{checksum:08x}".encode()
