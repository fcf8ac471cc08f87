"""The framing of event files: length, its checksum, payload, checksum of the payload."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from sonde.formats import format_count, pluralize

_HEAD = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_MASK_DELTA = 0xA282EAD8
_POLYNOMIAL = 0x82F63B78  # CRC-32C, reflected
_LENGTH_BYTES = 8
# the checksum of larger records, such as images, takes seconds per megabyte in Python
_MAX_CHECKED_BYTES = 1 << 16


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        checksum = byte
        for _ in range(8):
            checksum = (checksum >> 1) ^ (_POLYNOMIAL if checksum & 1 else 0)
        table.append(checksum)
    return tuple(table)


_TABLE = _table()


def masked_crc32c(data: bytes) -> int:
    """The checksum of event files: CRC-32C, rotated and shifted by a constant."""
    checksum, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        checksum = (checksum >> 8) ^ table[(checksum ^ byte) & 0xFF]
    checksum ^= 0xFFFFFFFF
    return (((checksum >> 15) | (checksum << 17)) + _MASK_DELTA) & 0xFFFFFFFF


# smdebug writes this constant after each tensor instead of a checksum of its bytes
UNCHECKED = masked_crc32c(b"0x12345678")


def encode_record(payload: bytes) -> bytes:
    """Frame one record."""
    length = struct.pack("<Q", len(payload))
    checksums = (_CHECKSUM.pack(masked_crc32c(length)), _CHECKSUM.pack(masked_crc32c(payload)))
    return b"".join((length, checksums[0], payload, checksums[1]))


@dataclass(slots=True)
class RecordReader:
    """Iterates over the payloads of a file, up to the first damage.

    After the iteration, `damage` says where and why it ended early; empty if it did not.
    """

    data: bytes
    damage: str = ""

    def __iter__(self) -> Iterator[bytes]:
        offset = 0
        while offset < len(self.data):
            try:
                payload = self._payload(offset)
            except ValueError as error:
                self.damage = str(error)
                return
            yield payload
            offset += _HEAD.size + len(payload) + _CHECKSUM.size

    def _payload(self, offset: int) -> bytes:
        """The payload of the record at an offset."""
        data = self.data
        start = offset + _HEAD.size
        if start > len(data):
            raise ValueError(f"is truncated after {pluralize(len(data), 'byte')}")
        length, stated = _HEAD.unpack_from(data, offset)
        if stated != masked_crc32c(data[offset : offset + _LENGTH_BYTES]):
            raise ValueError(f"is damaged at byte {format_count(offset)}")
        end = start + length
        if end + _CHECKSUM.size > len(data):
            raise ValueError(f"is truncated after {pluralize(len(data), 'byte')}")
        payload = data[start:end]
        (footer,) = _CHECKSUM.unpack_from(data, end)
        is_checked = footer != UNCHECKED and length <= _MAX_CHECKED_BYTES
        if is_checked and masked_crc32c(payload) != footer:
            raise ValueError(f"is damaged at byte {format_count(start)}")
        return payload
