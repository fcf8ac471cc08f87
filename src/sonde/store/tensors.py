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


@dataclass(frozen=True, slots=True)
class RawTensor:
    """An array as safetensors names it: element type (F32, BF16, I64, …), shape, bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def encode_tensors(tensors: Mapping[str, RawTensor], facts: Mapping[str, str]) -> bytes:
    """A safetensors file; facts are texts kept in its header."""
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
    body = b"".join(tensor.data for tensor in tensors.values())
    metadata = {**facts, "format": str(FORMAT_VERSION)}
    metadata["crc32"] = str(_checksum({**header, "__metadata__": metadata}, body))
    text = json.dumps({"__metadata__": metadata, **header}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text + body


def decode_tensors(data: bytes, key: str) -> tuple[dict[str, RawTensor], dict[str, str]]:
    """The tensors of a file and the facts in its header."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    body = memoryview(data)[_LENGTH_BYTES + length :]
    try:
        header = json.loads(data[_LENGTH_BYTES : _LENGTH_BYTES + length])
        metadata = header.pop("__metadata__")
        stated = metadata.pop("crc32")
    except (ValueError, KeyError, AttributeError) as error:
        raise DamagedError(f"{key} is damaged: its header cannot be read") from error
    if str(_checksum({**header, "__metadata__": metadata}, body)) != stated:
        raise DamagedError(f"{key} is damaged: its checksum does not match")
    refuse_newer_format(int(metadata.pop("format")), key)
    tensors = {
        name: RawTensor(one["dtype"], tuple(one["shape"]), bytes(body[slice(*one["data_offsets"])]))
        for name, one in header.items()
    }
    return tensors, metadata


def _checksum(header: Mapping[str, Any], body: bytes | memoryview) -> int:
    return zlib.crc32(body, zlib.crc32(json.dumps(header, sort_keys=True).encode()))
