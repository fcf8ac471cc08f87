"""Frames: the append-only form of a live segment.

A frame is a header (magic, kind, codec, length, checksum of the payload, checksum of the header)
and a payload. A cut at any byte leaves the exact prefix readable; a flipped bit costs its frame.
Frames know nothing of what their payloads mean.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from sonde.errors import FormatTooNewError
from sonde.store.limits import MOST_FRAME_BYTES

_MAGIC = b"\xf5SND"
_FIELDS = struct.Struct("<4sBBHII")
_CHECKSUM = struct.Struct("<I")
_HEADER_BYTES = _FIELDS.size + _CHECKSUM.size


class FrameKind(IntEnum):
    """What a payload is."""

    SCHEMA = 1
    BATCH = 2


class Codec(IntEnum):
    """How a payload is compressed. Writers run on the standard library, so it is zlib."""

    PLAIN = 0
    ZLIB = 1


_KINDS = frozenset(FrameKind)
_CODECS = frozenset(Codec)

# Level 1 costs a third of level 6 and gives up 5 % of size; sealing compresses again anyway.
_ZLIB_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that was read whole: where it starts, what it is and its payload, decompressed."""

    offset: int
    kind: FrameKind
    payload: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """A stretch of bytes that are not what was written."""

    offset: int
    length: int
    reason: str


def encode_frame(kind: FrameKind, payload: bytes) -> bytes:
    """One frame, compressed where that helps."""
    packed = zlib.compress(payload, _ZLIB_LEVEL)
    codec = Codec.ZLIB
    if len(packed) >= len(payload):
        packed, codec = payload, Codec.PLAIN
    fields = _FIELDS.pack(_MAGIC, kind, codec, 0, len(packed), zlib.crc32(packed))
    return fields + _CHECKSUM.pack(zlib.crc32(fields)) + packed


def _unpacked(packed: bytes) -> bytes | None:
    """The content; None where it is none, or so large that nobody wrote it."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(packed, MOST_FRAME_BYTES)
    except zlib.error:
        return None
    return content if unpacking.eof else None


class FrameScan:
    """Walks over the frames in a stretch of bytes.

    After iterating, `end` is where the next frame will start (a torn one at the tail is left for
    later) and `damages` are the stretches that had to be skipped.
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
                self._note(position, following - position, "not a frame")
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
        """The payload length stated by an intact header at that place, else None."""
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
            self._note(position, _HEADER_BYTES + length, "checksum does not match")
            return None
        if kind not in _KINDS or codec not in _CODECS:  # intact, so it was meant
            raise FormatTooNewError(
                f"A segment holds a frame of kind {kind} and codec {codec}, which this sonde does "
                "not know. Upgrade with: pip install -U sonde"
            )
        payload = _unpacked(packed) if codec == Codec.ZLIB else bytes(packed)
        if payload is None:
            self._note(position, _HEADER_BYTES + length, "its content cannot be decompressed")
            return None
        return Frame(self._base + position, FrameKind(kind), payload)

    def _next_header(self, position: int) -> int | None:
        while (position := self._data.find(_MAGIC, position)) >= 0:
            if self._payload_length(position) is not None:
                return position
            position += 1
        return None

    def _note(self, position: int, length: int, reason: str) -> None:
        self.damages.append(Damage(self._base + position, length, reason))
        self.end = self._base + position + length

    def _note_unreadable_tail(self, position: int) -> None:
        """The beginning of a header is a write cut short; anything else at the end is damage."""
        rest = self._data[position:]
        is_cut_short = len(rest) < _HEADER_BYTES and (
            rest.startswith(_MAGIC) or _MAGIC.startswith(rest)
        )
        if not is_cut_short:
            self.damages.append(
                Damage(self._base + position, len(rest), "not a frame, and none follows")
            )
