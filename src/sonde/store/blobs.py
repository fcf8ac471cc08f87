"""Blobs: profiler output, stored unchanged after a header with a checksum."""

import gzip
import io
import zlib

from sonde.errors import DamagedError
from sonde.store.format import FORMAT_VERSION, refuse_newer_format
from sonde.store.limits import MAX_PROFILE_BYTES

_MAGIC = b"SNDB"
_HEADER_BYTES = 12
_HAS_NAME, _NAME_AT = 8, 10  # in the header of gzip


def encode_blob(content: bytes) -> bytes:
    """Prepend magic, format version and checksum to the content."""
    version = FORMAT_VERSION.to_bytes(4, "little")
    return _MAGIC + version + zlib.crc32(version + content).to_bytes(4, "little") + content


def decode_blob(data: bytes, key: str) -> bytes:
    """The content, after verifying its checksum."""
    version, content = data[4:8], data[_HEADER_BYTES:]
    stated = int.from_bytes(data[8:_HEADER_BYTES], "little")
    is_whole = len(data) >= _HEADER_BYTES and data.startswith(_MAGIC)
    if not is_whole or zlib.crc32(version + content) != stated:
        raise DamagedError(f"{key} is damaged: its checksum does not match")
    refuse_newer_format(int.from_bytes(version, "little"), key)
    return content


def zipped(content: bytes, key: str) -> bytes:
    """Compress the content with gzip; the header names the file."""
    sink = io.BytesIO()
    name = key.rpartition("/")[2]
    with gzip.GzipFile(name, "wb", compresslevel=6, fileobj=sink, mtime=0) as file:
        file.write(content)
    return sink.getvalue()


def unzipped(packed: bytes, key: str) -> bytes:
    """Decompress the content, after checking its file name and size."""
    if len(packed) > _NAME_AT and packed[3] & _HAS_NAME:
        name = packed[_NAME_AT : packed.find(b"\0", _NAME_AT)].decode("latin-1")
        if name != key.rpartition("/")[2].removesuffix(".gz"):
            raise DamagedError(f"{key} is damaged: it is a copy of {name}")
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        content = unpacking.decompress(packed, MAX_PROFILE_BYTES)
    except zlib.error as error:
        raise DamagedError(f"{key} is damaged: {error}") from error
    if not unpacking.eof:
        raise DamagedError(f"{key} is damaged: truncated or too large")
    return content
