"""Lines that the workers of a job wrote to stdout and stderr."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sonde.errors import UsageError
from sonde.read.steps import read_steps
from sonde.read.workers import WorkerReader
from sonde.records.arrays import IntArray
from sonde.records.log_line import OMITTED, LogLine
from sonde.records.ranges import EVER, TimeRange
from sonde.records.step import Mode
from sonde.store.format import LOGS
from sonde.store.tables import texts_of, to_numpy


@dataclass(frozen=True)
class LogQuestion:
    """A query for lines."""

    pattern: re.Pattern[str] | None = None
    stream: str | None = None
    within: TimeRange = EVER


@dataclass(frozen=True)
class LogPage:
    """The last matching lines, and how many there are in total."""

    lines: tuple[LogLine, ...]
    total: int


def parse_pattern(text: str) -> re.Pattern[str] | None:
    """A regular expression that ignores case; None if the text is empty.

    Raises:
        UsageError: It is not a regular expression.
    """
    if not text:
        return None
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise UsageError(f"{text!r} is not a regular expression: {error}") from error


def read_logs(readers: Sequence[WorkerReader], question: LogQuestion, limit: int) -> LogPage:
    """The last lines that match a query, in order of time."""
    lines = [line for reader in readers for line in _lines_of(reader, question)]
    lines.sort(key=lambda line: line.time_ns)
    return LogPage(tuple(lines[-limit:]), len(lines))


def _lines_of(reader: WorkerReader, question: LogQuestion) -> Iterator[LogLine]:
    rows = reader.folder(LOGS).rows(question.within)
    times_ns, steps = to_numpy(rows["time_ns"]), _steps_of(reader, rows)
    (streams, stream_numbers), (texts, text_numbers) = (
        texts_of(rows["stream"]),
        texts_of(rows["text"]),
    )
    modes, mode_numbers = texts_of(rows["mode"])
    is_match = np.array([_matches(text, question.pattern) for text in texts], dtype=np.bool_)
    is_chosen = np.array([_has_stream(stream, question) for stream in streams], dtype=np.bool_)
    if not rows.num_rows:
        return
    for index in np.flatnonzero(is_match[text_numbers] & is_chosen[stream_numbers]).tolist():
        yield LogLine(
            time_ns=int(times_ns[index]),
            worker=reader.rank,
            step=int(steps[index]),
            mode=modes[mode_numbers[index]],
            stream=streams[stream_numbers[index]],
            text=texts[text_numbers[index]],
        )


def _steps_of(reader: WorkerReader, rows: pa.Table) -> IntArray:
    """The step of each line; while hooks rest, the recorded one is that of the last inspection."""
    times_ns, steps = to_numpy(rows["time_ns"]), to_numpy(rows["step"])
    train = read_steps(reader, Mode.TRAIN.value)
    if not len(train.steps):
        return steps
    is_train = pc.equal(rows["mode"], Mode.TRAIN.value).to_numpy(zero_copy_only=False)
    order = np.argsort(train.ends_ns, kind="stable")
    ended = np.searchsorted(train.ends_ns[order], times_ns, side="right") - 1
    last = np.where(ended >= 0, train.steps[order][np.maximum(ended, 0)], 0)
    return np.where(is_train, np.maximum(steps, last), steps)


def _matches(text: str, pattern: re.Pattern[str] | None) -> bool:
    return pattern is None or pattern.search(text) is not None


def _has_stream(stream: str, question: LogQuestion) -> bool:
    """Whether a stream was asked for; omitted lines are shown only without a pattern."""
    if stream == OMITTED:
        return question.pattern is None
    return question.stream is None or stream == question.stream
