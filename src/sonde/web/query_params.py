"""The parameters of an API request, validated and bounded."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.formats import format_count
from sonde.records.ranges import TimeRange
from sonde.store.layout import check_name
from sonde.web.library import Library
from sonde.web.shared_job import SharedJob

MAX_PIXELS = 4096
_MAX_TEXT_LENGTH = 16_384
_MAX_SECONDS = 4_000_000_000.0  # the year 2096


@dataclass(frozen=True)
class Query:
    """One API request: its path, query parameters and body."""

    library: Library
    path: Mapping[str, str]
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def job(self) -> SharedJob:
        """The job that the path names.

        Raises:
            JobNotFoundError: The store has no such job.
        """
        return self.library.job(check_name(self.path["job"]))

    def text(self, name: str, default: str = "") -> str:
        """A text of bounded length."""
        text = self.parameters.get(name, default)
        if len(text) > _MAX_TEXT_LENGTH:
            length, limit = format_count(len(text)), format_count(_MAX_TEXT_LENGTH)
            raise UsageError(f"{name} has {length} characters. The limit is {limit}.")
        return text

    def texts(self, name: str, limit: int) -> list[str]:
        """Comma-separated texts."""
        texts = [text for text in self.text(name).split(",") if text]
        if len(texts) > limit:
            raise UsageError(f"{name} has {len(texts)} entries. The limit is {limit} per request.")
        return texts

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of several words; the first by default."""
        choice = self.text(name, choices[0])
        if choice not in choices:
            raise UsageError(f"Unknown {name} {choice!r}. Choose one of: {', '.join(choices)}")
        return choice

    def integer(self, name: str, default: int, minimum: int, maximum: int) -> int:
        """An integer between two bounds."""
        text = self.text(name)
        if not text:
            return default
        try:
            number = int(text)
        except ValueError:
            raise UsageError(f"{name} must be an integer, not {text!r}.") from None
        if not minimum <= number <= maximum:
            raise UsageError(f"{name} must be between {minimum} and {maximum}, not {number}.")
        return number

    @property
    def pixels(self) -> int:
        """The width of the chart in pixels."""
        return self.integer("px", 1200, 2, MAX_PIXELS)

    def seconds(self, name: str) -> float | None:
        """A time in seconds, if present."""
        text = self.text(name)
        if not text:
            return None
        try:
            seconds = float(text)
        except ValueError:
            seconds = math.nan
        if not 0 <= seconds <= _MAX_SECONDS:
            raise UsageError(f"{name} must be a time in seconds, not {text!r}.")
        return seconds

    @property
    def window(self) -> TimeRange:
        """The range from `t0` to `t1`; the whole job by default."""
        extent = self.job.extent
        start, end = self.seconds("t0"), self.seconds("t1")
        start_ns = (extent.start_ns or 0) if start is None else round(start * NANOSECONDS)
        end_ns = (extent.end_ns or 0) if end is None else round(end * NANOSECONDS)
        if end_ns <= start_ns:
            raise UsageError("The time range is empty: t1 must be later than t0.")
        return TimeRange(start_ns, end_ns)

    @property
    def node(self) -> str:
        """The requested node; the first by default."""
        nodes = self.job.facts.nodes
        node = self.text("node", nodes[0] if nodes else "")
        if node not in nodes:
            raise UsageError(f"Job {self.job.name!r} has no node {node!r}.")
        return node

    @property
    def worker(self) -> int:
        """The requested worker; the first by default."""
        ranks = self.job.facts.workers
        worker = self.text("worker", ranks[0] if ranks else "")
        if worker not in ranks:
            raise UsageError(f"Job {self.job.name!r} has no worker {worker!r}.")
        return int(worker)
