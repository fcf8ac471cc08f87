"""Blobs: bytes that a profiler wrote, kept as they are behind a checksum."""

import gzip
import io
import zlib

from sonde.errors import DamagedError
from sonde.store.format import FORMAT_VERSION, refuse_newer_format
from sonde.store.limits import MOST_PROFILE_BYTES

_MAGIC = b"SNDB"
_HEADER_BYTES = 12
_HAS_NAME, _NAME_AT = 8, 10  # in the header of gzip


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


def zipped(content: bytes, key: str) -> bytes:
    """The content compressed by gzip, which names the file that it belongs to."""
    sink = io.BytesIO()
    name = key.rpartition("/")[2]
    with gzip.GzipFile(name, "wb", compresslevel=6, fileobj=sink, mtime=0) as file:
        file.write(content)
    return sink.getvalue()


def unzipped(packed: bytes, key: str) -> bytes:
    """The content, unless it belongs to another file or is larger than anything Sonde writes."""
    if len(packed) > _NAME_AT and packed[3] & _HAS_NAME:
        name = packed[_NAME_AT : packed.find(b"\0", _NAME_AT)].decode("latin-1")
        if name != key.rpartition("/")[2].removesuffix(".gz"):
            raise DamagedError(f"{key} is damaged: it is a copy of {name}")
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        content = unpacking.decompress(packed, MOST_PROFILE_BYTES)
    except zlib.error as error:
        raise DamagedError(f"{key} is damaged: {error}") from error
    if not unpacking.eof:
        raise DamagedError(f"{key} is damaged: it is cut, or too large")
    return content
