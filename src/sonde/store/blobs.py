"""Blobs: bytes that a profiler wrote, kept as they are behind a checksum."""

import zlib

from sonde.errors import DamagedError
from sonde.store.format import FORMAT_VERSION, refuse_newer_format

_MAGIC = b"SNDB"
_HEADER_BYTES = 12


def encode_blob(content: bytes) -> bytes:
    """The content behind magic, format version and checksum."""
    version = FORMAT_VERSION.to_bytes(4, "little")
    return _MAGIC + version + zlib.crc32(version + content).to_bytes(4, "little") + content


def decode_blob(data: bytes, key: str) -> bytes:
    """The content, checked."""
    version, content = data[4:8], data[_HEADER_BYTES:]
    stated = int.from_bytes(data[8:_HEADER_BYTES], "little")
    is_whole = len(data) >= _HEADER_BYTES and data.startswith(_MAGIC)
    if not is_whole or zlib.crc32(version + content) != stated:
        raise DamagedError(f"{key} is damaged: its checksum does not match")
    refuse_newer_format(int.from_bytes(version, "little"), key)
    return content
