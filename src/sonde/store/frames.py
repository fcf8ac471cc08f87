"""Frames: the append-only form of a live segment.

A frame is a header (magic, kind, codec, length, checksum of the payload, checksum of the header)
and a payload. After truncation at any byte, all complete frames are readable; a flipped bit costs
one frame.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from sonde.errors import FormatTooNewError
from sonde.store.limits import MAX_FRAME_BYTES

_MAGIC = b"\xf5SND"
_FIELDS = struct.Struct("<4sBBHII")
_CHECKSUM = struct.Struct("<I")
_HEADER_BYTES = _FIELDS.size + _CHECKSUM.size


class FrameKind(IntEnum):
    """The kind of a payload."""

    SCHEMA = 1
    BATCH = 2


class Codec(IntEnum):
    """The compression of a payload. Writers only use the standard library, hence zlib."""

    PLAIN = 0
    ZLIB = 1


_KINDS = frozenset(FrameKind)
_CODECS = frozenset(Codec)

# Level 1 takes a third of the time of level 6 for 5% more bytes; sealing compresses again.
_ZLIB_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Frame:
    """A complete frame with its decompressed payload."""

    offset: int
    kind: FrameKind
    payload: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """A range of damaged bytes."""

    offset: int
    length: int
    reason: str


def encode_frame(kind: FrameKind, payload: bytes) -> bytes:
    """Encode one frame, compressed if that makes it smaller."""
    packed = zlib.compress(payload, _ZLIB_LEVEL)
    codec = Codec.ZLIB
    if len(packed) >= len(payload):
        packed, codec = payload, Codec.PLAIN
    fields = _FIELDS.pack(_MAGIC, kind, codec, 0, len(packed), zlib.crc32(packed))
    return fields + _CHECKSUM.pack(zlib.crc32(fields)) + packed


def _unpacked(packed: bytes) -> bytes | None:
    """The decompressed content; None if it is invalid or too large."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(packed, MAX_FRAME_BYTES)
    except zlib.error:
        return None
    return content if unpacking.eof else None


class FrameScan:
    """Iterates over the frames in a buffer.

    After iterating, `end` is the offset of the next frame (an incomplete frame at the end is read
    later), and `damages` are the skipped ranges.
    """

    def __init__(self, data: bytes, base: int = 0) -> None:
        self._data = data
        self._base = base
        self.end = base
        self.damages: list[Damage] = []

    def __iter__(self) -> Iterator[Frame]:
        position = 0
        while position < len(self._data):
            length = self._payload_length(position)
            if length is None:
                following = self._next_header(position + 1)
                if following is None:
                    self._note_unreadable_tail(position)
                    return
                self._add_damage(position, following - position, "not a frame")
                position = following
            elif position + _HEADER_BYTES + length > len(self._data):
                return
            else:
                frame = self._frame(position, length)
                position += _HEADER_BYTES + length
                self.end = self._base + position
                if frame is not None:
                    yield frame

    def _payload_length(self, position: int) -> int | None:
        """The payload length in the header at a position; None without an intact header."""
        header = self._data[position : position + _HEADER_BYTES]
        if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
            return None
        if zlib.crc32(header[: _FIELDS.size]) != _CHECKSUM.unpack_from(header, _FIELDS.size)[0]:
            return None
        return int(_FIELDS.unpack_from(header)[4])

    def _frame(self, position: int, length: int) -> Frame | None:
        _, kind, codec, _, _, checksum = _FIELDS.unpack_from(self._data, position)
        start = position + _HEADER_BYTES
        packed = self._data[start : start + length]
        if zlib.crc32(packed) != checksum:
            self._add_damage(position, _HEADER_BYTES + length, "checksum does not match")
            return None
        # the checksum matches, so a newer version wrote it
        if kind not in _KINDS or codec not in _CODECS:
            raise FormatTooNewError(
                f"A segment has a frame of unknown kind {kind} or codec {codec}, from a newer "
                "version of Sonde. Upgrade with: pip install -U sonde"
            )
        payload = _unpacked(packed) if codec == Codec.ZLIB else bytes(packed)
        if payload is None:
            self._add_damage(position, _HEADER_BYTES + length, "decompression failed")
            return None
        return Frame(self._base + position, FrameKind(kind), payload)

    def _next_header(self, position: int) -> int | None:
        while (position := self._data.find(_MAGIC, position)) >= 0:
            if self._payload_length(position) is not None:
                return position
            position += 1
        return None

    def _add_damage(self, position: int, length: int, reason: str) -> None:
        self.damages.append(Damage(self._base + position, length, reason))
        self.end = self._base + position + length

    def _note_unreadable_tail(self, position: int) -> None:
        """Record unreadable bytes at the end as damage, unless they are an incomplete header."""
        rest = self._data[position:]
        is_cut_short = len(rest) < _HEADER_BYTES and (
            rest.startswith(_MAGIC) or _MAGIC.startswith(rest)
        )
        if not is_cut_short:
            self.damages.append(
                Damage(self._base + position, len(rest), "not a frame, and none follows")
            )
