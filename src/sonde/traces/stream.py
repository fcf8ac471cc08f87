"""Read the events of a trace in chunks, with bounded memory.

A trace is a JSON document with `traceEvents` at any position, or a bare array of events. A chunk
is cut where one event seems to end and the next to begin. If the decoder rejects the chunk, the
end of the last event is found by counting brackets and quotes.
"""

import io
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from sonde.errors import DamagedError
from sonde.traces import plain_events

try:
    from sonde.traces.typed_events import decode_arguments, decode_events
except ImportError:  # msgspec is missing
    from sonde.traces.plain_events import decode_arguments, decode_events

BLOCK_BYTES = 1 << 17

_MAX_HEAD_BYTES = 64 << 20
_TAIL_BYTES = 1 << 14  # searched for the end of a chunk
_GAP_BYTES = 64  # longer than any gap between two events
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_UNREADABLE = (ValueError, RecursionError)
_SEPARATORS = b", \t\r\n"
_QUOTE = ord('"')

# The change of bracket depth of each byte.
_DEPTHS = np.zeros(256, dtype=np.int8)
_DEPTHS[[ord("{"), ord("[")]] = 1
_DEPTHS[[ord("}"), ord("]")]] = -1
_IS_STRUCTURE = _DEPTHS != 0
_IS_STRUCTURE[_QUOTE] = True


class TraceStream:
    """Reads the events of one trace in chunks; the metadata is available at the end."""

    def __init__(self, source: bytes | Path | BinaryIO, block_bytes: int = BLOCK_BYTES) -> None:
        self.metadata: dict[str, Any] = {}  # of the document, without events
        self.is_truncated = False  # whether the trace is truncated
        self.left_out = 0  # unreadable events
        self.bytes_read = 0
        self._blocks = _blocks(source, block_bytes)
        self._rest = b""

    def chunks(self) -> Iterator[tuple[list[Any], bytes]]:
        """Chunks of events, with the JSON array that they were read from."""
        head, self._rest = self._read_head()
        closing = b"" if head is None else b"]}"
        is_closed = False
        for block in self._count_blocks():
            chunk = self._quick_chunk(block)
            if chunk is None:
                self._rest += block
                chunk, is_closed = self._careful_chunk()
            if chunk[0]:
                yield chunk
            del chunk  # free memory before the next chunk
            if is_closed:
                break
        else:
            chunk, is_closed = self._careful_chunk()
            if chunk[0]:
                yield chunk
        # the format allows a bare array without the closing bracket
        is_complete = head is None and not self._rest.strip(_SEPARATORS)
        self.is_truncated = not is_closed and not is_complete
        self._read_metadata(head, closing)

    def _count_blocks(self) -> Iterator[bytes]:
        for block in self._blocks:
            self.bytes_read += len(block)
            yield block

    def _read_head(self) -> tuple[bytes | None, bytes]:
        """The text before the events (None for a bare array), and the text after it."""
        read = b""
        for block in self._count_blocks():
            read += block
            start = read.lstrip()
            if start.startswith(b"["):
                return None, start[1:]
            for match in _EVENTS_KEY.finditer(read):
                if _is_json(read[: match.end()] + b"]}"):
                    return read[: match.end()], read[match.end() :]
            if len(read) > _MAX_HEAD_BYTES:
                break
        raise DamagedError("Not a trace: no traceEvents and no array of events")

    def _quick_chunk(self, block: bytes) -> tuple[list[Any], bytes] | None:
        """The events up to the last complete one; None if decoding fails."""
        end = _last_end(block)
        if not end:
            return None
        rest = self._rest.lstrip(_SEPARATORS)
        listed = b"".join((b"[", rest, memoryview(block)[:end], b"]"))
        try:
            events = decode_events(listed)
        except _UNREADABLE:
            return None
        self._rest = block[end:]
        return events, listed

    def _careful_chunk(self) -> tuple[tuple[list[Any], bytes], bool]:
        """The complete events, found by counting brackets, and whether the array ends."""
        text = self._rest.lstrip(_SEPARATORS)
        ends, close = _event_ends(text)
        is_closed = close is not None
        end = int(ends[-1]) if len(ends) else 0
        self._rest = text[close + 1 :] if close is not None else text[end:]
        listed = b"[" + text[:end] + b"]"
        for decode in (decode_events, plain_events.decode_events):
            try:
                return (decode(listed), listed), is_closed
            except _UNREADABLE:
                continue
        return self._one_by_one(text, ends), is_closed

    def _one_by_one(self, text: bytes, ends: npt.NDArray[np.int64]) -> tuple[list[Any], bytes]:
        """The readable events of a damaged chunk."""
        events, readable, start = [], [], 0
        for end in ends.tolist():
            event = text[start:end].lstrip(_SEPARATORS)
            start = end
            try:
                events += plain_events.decode_events(b"[" + event + b"]")
                readable.append(event)
            except _UNREADABLE:
                self.left_out += 1
        return events, b"[" + b",".join(readable) + b"]"

    def _read_metadata(self, head: bytes | None, closing: bytes) -> None:
        if head is None:
            return
        tail = b""
        if not self.is_truncated:
            tail = b"".join([self._rest, *self._count_blocks()])
        for document in (head + b"]" + tail, head + closing):
            try:
                metadata = json.loads(document, strict=False)
            except ValueError:
                continue
            metadata.pop("traceEvents", None)
            self.metadata = metadata
            return


def arguments_of(listed: bytes) -> list[str]:
    """All arguments of each event of an array, as JSON."""
    try:
        return decode_arguments(listed)
    except _UNREADABLE:
        return plain_events.decode_arguments(listed)


def _is_json(text: bytes) -> bool:
    try:
        document = json.loads(text, strict=False)
    except ValueError:
        return False
    return isinstance(document, dict) and "traceEvents" in document


def _last_end(block: bytes) -> int:
    """The probable end of the last event that is followed by another; 0 if there is none."""
    begin, first = len(block), max(0, len(block) - _TAIL_BYTES)
    while (begin := block.rfind(b"{", first, begin)) >= 0:
        gap = block[max(0, begin - _GAP_BYTES) : begin]
        before = gap.rstrip().removesuffix(b",").rstrip()
        if before.endswith(b"}"):
            return begin - len(gap) + len(before)
    return 0


def _event_ends(text: bytes) -> tuple[npt.NDArray[np.int64], int | None]:
    """The end of each complete event, and the end of the array if it is included."""
    plain = _ESCAPED.sub(b"__", text) if b"\\" in text else text
    values = np.frombuffer(plain, dtype=np.uint8)
    offsets = np.flatnonzero(_IS_STRUCTURE[values])
    values = values[offsets]
    is_outside = np.cumsum(values == _QUOTE, dtype=np.int32) % 2 == 0
    depths = np.cumsum(np.where(is_outside, _DEPTHS[values], 0), dtype=np.int32)
    below = np.flatnonzero(depths < 0)
    close = int(offsets[below[0]]) if len(below) else None
    last = int(below[0]) if len(below) else len(values)
    is_end = (depths[:last] == 0) & is_outside[:last] & (values[:last] == ord("}"))
    return offsets[:last][is_end] + 1, close


def _blocks(source: bytes | Path | BinaryIO, size: int) -> Iterator[bytes]:
    """The blocks of a source, decompressed if it is gzipped."""
    if isinstance(source, Path):
        with source.open("rb") as opened:
            yield from _blocks(opened, size)
        return
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    first = file.read(size)
    if not first.startswith(b"\x1f\x8b"):
        yield first
        while block := file.read(size):
            yield block
        return
    yield from _inflated(first, file, size)


def _inflated(packed: bytes, file: BinaryIO, size: int) -> Iterator[bytes]:
    member = zlib.decompressobj(wbits=31)
    while packed or (packed := file.read(size)):
        try:
            block = member.decompress(packed, size)
        except zlib.error:  # keep what was read so far
            return
        packed = member.unconsumed_tail
        if member.eof:
            packed, member = member.unused_data, zlib.decompressobj(wbits=31)
        if block:
            yield block
