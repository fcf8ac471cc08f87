"""The events of event files: scalars, tensors and histograms with a tag and a step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sonde.tfevents.arrays import Array, decode_array
from sonde.tfevents.wire import (
    Field,
    encode_bytes,
    encode_double,
    encode_doubles,
    encode_varint,
    fields,
)

FILE_VERSION = b"brain.Event:2"


@dataclass(frozen=True, slots=True)
class HistogramBuckets:
    """A histogram of TensorBoard: ascending edges, and the count of each bucket."""

    minimum: float
    maximum: float
    count: float
    total: float
    sum_of_squares: float
    limits: tuple[float, ...]  # upper edges
    counts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """One value of an event."""

    tag: str
    plugins: Mapping[str, bytes] = field(default_factory=dict)  # content by plug-in name
    scalar: float | None = None
    array: Array | None = None
    histogram: HistogramBuckets | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it is an image, a text or another value without numbers."""
        return self.scalar is None and self.array is None and self.histogram is None


@dataclass(frozen=True, slots=True)
class Event:
    """The values of one instant."""

    wall_seconds: float
    step: int
    summaries: tuple[Summary, ...] = ()


def decode_event(payload: bytes) -> Event:
    """Decode an event.

    Raises:
        ValueError: It is truncated or damaged.
    """
    wall_seconds, step = 0.0, 0
    summaries: list[Summary] = []
    for part in fields(payload):
        if part.number == 1:
            wall_seconds = part.double
        elif part.number == 2:
            step = part.signed
        elif part.number == 5:
            summaries += [_summary(value) for value in fields(part.content) if value.number == 1]
    return Event(wall_seconds, step, tuple(summaries))


def _summary(message: Field) -> Summary:
    tag = ""
    plugins: dict[str, bytes] = {}
    values: dict[str, Any] = {}
    for part in fields(message.content):
        if part.number == 1:
            tag = part.text
        elif part.number == 9:
            plugins |= _plugins(part.content)
        elif part.number in _VALUES:
            name, decode = _VALUES[part.number]
            values[name] = decode(part)
    return Summary(tag, plugins, **values)


def _plugins(message: bytes) -> dict[str, bytes]:
    """The content of each plug-in; smdebug repeats the field that TensorBoard uses once."""
    plugins = {}
    for entry in fields(message):
        if entry.number == 1:
            contents = {each.number: each.content for each in fields(entry.content)}
            plugins[contents.get(1, b"").decode("utf-8", "replace")] = contents.get(2, b"")
    return plugins


def _histogram(message: Field) -> HistogramBuckets:
    numbers: dict[int, float] = {}
    columns: dict[int, list[float]] = {6: [], 7: []}
    for part in fields(message.content):
        if part.number in columns:
            columns[part.number] += np.frombuffer(part.content, "<f8").tolist()
        else:
            numbers[part.number] = part.double
    minimum, maximum, count, total, squares = (numbers.get(number, 0.0) for number in range(1, 6))
    edges, counts = tuple(columns[6]), tuple(columns[7])
    return HistogramBuckets(minimum, maximum, count, total, squares, edges, counts)


_VALUES: Mapping[int, tuple[str, Callable[[Field], Any]]] = {
    2: ("scalar", lambda part: part.single),
    5: ("histogram", _histogram),
    8: ("array", lambda part: decode_array(part.content)),
}


def encode_version(wall_seconds: float) -> bytes:
    """The first event of a file, which names its version."""
    return encode_double(1, wall_seconds) + encode_bytes(3, FILE_VERSION)


def encode_event(wall_seconds: float, step: int, summaries: Sequence[bytes]) -> bytes:
    """An event with encoded summaries."""
    summary = b"".join(encode_bytes(1, each) for each in summaries)
    return encode_double(1, wall_seconds) + encode_varint(2, step) + encode_bytes(5, summary)


def encode_scalar(tag: str, value: float) -> bytes:
    """A summary with one number."""
    single = np.float32(value).tobytes()
    # field 2 holds 32 bits
    return encode_bytes(1, tag.encode()) + b"\x15" + single


def encode_histogram(tag: str, histogram: HistogramBuckets) -> bytes:
    """A summary with a histogram."""
    moments = (
        *(histogram.minimum, histogram.maximum, histogram.count),
        *(histogram.total, histogram.sum_of_squares),
    )
    message = b"".join(encode_double(number, value) for number, value in enumerate(moments, 1))
    message += encode_doubles(6, histogram.limits) + encode_doubles(7, histogram.counts)
    return encode_bytes(1, tag.encode()) + encode_bytes(5, message)
