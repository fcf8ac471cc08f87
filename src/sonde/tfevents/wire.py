"""The wire format of protocol buffers: numbered fields, without a schema."""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5

_MAX_VARINT_BYTES = 10
_SIZES = {FIXED_64: 8, FIXED_32: 4}


class Field(NamedTuple):
    """A field: a number in `unsigned`, anything else in `content`."""

    number: int
    unsigned: int
    content: bytes = b""

    @property
    def signed(self) -> int:
        """A number of 64 bits with a sign."""
        return self.unsigned - (1 << 64) if self.unsigned >= 1 << 63 else self.unsigned

    @property
    def text(self) -> str:
        """A text; bytes that are not UTF-8 are replaced."""
        return self.content.decode("utf-8", "replace")

    @property
    def double(self) -> float:
        """A number of 64 bits."""
        return _unpack("<d", self.content)

    @property
    def single(self) -> float:
        """A number of 32 bits."""
        return _unpack("<f", self.content)


def fields(message: bytes) -> Iterator[Field]:
    """The fields of a message, in order.

    Raises:
        ValueError: The message is truncated or damaged.
    """
    offset = 0
    while offset < len(message):
        key, offset = _read_varint(message, offset)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            unsigned, offset = _read_varint(message, offset)
            yield Field(number, unsigned)
            continue
        if kind == BYTES:
            size, offset = _read_varint(message, offset)
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise ValueError(f"a field has the unknown type {kind}")
        if offset + size > len(message):
            raise ValueError("a field exceeds its message")
        yield Field(number, 0, message[offset : offset + size])
        offset += size


def packed(data: bytes) -> Iterator[Field]:
    """The numbers of a packed field."""
    offset = 0
    while offset < len(data):
        unsigned, offset = _read_varint(data, offset)
        yield Field(0, unsigned)


def encode_varint(number: int, value: int) -> bytes:
    """A field with an unsigned number, or a signed one of 64 bits."""
    return _varint(number << 3 | VARINT) + _varint(value & (1 << 64) - 1)


def encode_bytes(number: int, value: bytes) -> bytes:
    """A field with bytes, a text or a message."""
    return _varint(number << 3 | BYTES) + _varint(len(value)) + value


def encode_double(number: int, value: float) -> bytes:
    """A field with a number of 64 bits."""
    return _varint(number << 3 | FIXED_64) + struct.pack("<d", value)


def encode_doubles(number: int, values: Sequence[float]) -> bytes:
    """A packed field with numbers of 64 bits."""
    return encode_bytes(number, struct.pack(f"<{len(values)}d", *values))


def _unpack(code: str, data: bytes) -> float:
    try:
        (number,) = struct.unpack(code, data)
    except struct.error as error:
        raise ValueError("a number has the wrong size") from error
    return float(number)


def _read_varint(message: bytes, offset: int) -> tuple[int, int]:
    """A number and the offset after it."""
    number = 0
    for index, byte in enumerate(message[offset : offset + _MAX_VARINT_BYTES]):
        number |= (byte & 0x7F) << 7 * index
        if not byte & 0x80:
            return number & (1 << 64) - 1, offset + index + 1
    raise ValueError("a number is truncated")


def _varint(value: int) -> bytes:
    chunks = bytearray()
    while value > 0x7F:
        chunks.append(value & 0x7F | 0x80)
        value >>= 7
    chunks.append(value)
    return bytes(chunks)
