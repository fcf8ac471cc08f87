"""A large trace from a small one: the same steps, repeated and shifted in time."""

import gzip
import re
from pathlib import Path

_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_COUNTED = re.compile(rb'"(ts|correlation|External id|Sequence number|id)": ([0-9]+)(\.[0-9]+)?')
_SHIFT_MICROSECONDS = 500_000  # longer than the recording
_SHIFT_NUMBERS = 1_000_000


def write_copies(recording: Path, path: Path, copies: int) -> None:
    """Write `copies` repetitions of a recording as one uncompressed trace."""
    text = gzip.decompress(recording.read_bytes())
    match = _EVENTS.search(text)
    assert match is not None
    first, last = match.end(), text.rindex(b"]")
    events = text[first:last].rstrip()
    with path.open("wb") as file:
        file.write(text[:first])
        for copy in range(copies):
            file.write(b"," if copy else b"")
            file.write(_shifted(events, copy))
        file.write(b"\n  " + text[last:])


def _shifted(events: bytes, copy: int) -> bytes:
    def shift(match: re.Match[bytes]) -> bytes:
        key, number, fraction = match.groups()
        by = _SHIFT_MICROSECONDS if key == b"ts" else _SHIFT_NUMBERS
        return b'"%s": %d%s' % (key, int(number) + copy * by, fraction or b"")

    return _COUNTED.sub(shift, events)
