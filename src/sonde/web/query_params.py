"""What a browser asks: words of an address, checked and bounded before anybody uses them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.records.ranges import TimeRange
from sonde.store.layout import check_name
from sonde.web.library import Library
from sonde.web.shared_job import SharedJob

MOST_PIXELS = 4096
_LONGEST_TEXT = 16_384
_LAST_SECOND = 4_000_000_000.0  # a hundred years from now


@dataclass(frozen=True)
class Question:
    """One request: what stands in its path, after its question mark, and in its body."""

    library: Library
    path: Mapping[str, str]
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def job(self) -> SharedJob:
        """The job that the path names; one that is not in the store is an error."""
        return self.library.job(check_name(self.path["job"]))

    def text(self, name: str, default: str = "") -> str:
        """A text; not of any length."""
        found = self.query.get(name, default)
        if len(found) > _LONGEST_TEXT:
            raise UsageError(f"{name} is {len(found)} characters long. At most {_LONGEST_TEXT}.")
        return found

    def texts(self, name: str, most: int) -> list[str]:
        """Texts with commas between them."""
        found = [one for one in self.text(name).split(",") if one]
        if len(found) > most:
            raise UsageError(f"{name} names {len(found)}. At most {most} at a time.")
        return found

    def choice(self, name: str, known: tuple[str, ...]) -> str:
        """One of some words; the first if nothing is said."""
        found = self.text(name, known[0])
        if found not in known:
            raise UsageError(f"{name} cannot be {found!r}. Known: {', '.join(known)}")
        return found

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number between two bounds."""
        text = self.text(name)
        if not text:
            return default
        try:
            found = int(text)
        except ValueError:
            raise UsageError(f"{name} is a whole number, not {text!r}.") from None
        if not least <= found <= most:
            raise UsageError(f"{name} is between {least} and {most}, not {found}.")
        return found

    @property
    def pixels(self) -> int:
        """How many columns the picture has."""
        return self.whole("px", 1200, 2, MOST_PIXELS)

    def seconds(self, name: str) -> float | None:
        """An instant in Unix seconds, if one is given."""
        text = self.text(name)
        if not text:
            return None
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not 0 <= found <= _LAST_SECOND:
            raise UsageError(f"{name} is an instant in Unix seconds, not {text!r}.")
        return found

    @property
    def window(self) -> TimeRange:
        """From `t0` to `t1`; the whole job where they are not given."""
        extent = self.job.extent
        start, end = self.seconds("t0"), self.seconds("t1")
        start_ns = (extent.start_ns or 0) if start is None else round(start * NANOSECONDS)
        end_ns = (extent.end_ns or 0) if end is None else round(end * NANOSECONDS)
        if end_ns <= start_ns:
            raise UsageError(f"t1 comes after t0: from {start_ns} to {end_ns} ns is nothing.")
        return TimeRange(start_ns, end_ns)

    @property
    def node(self) -> str:
        """The node that is meant: the first one if none is named."""
        nodes = self.job.facts.nodes
        found = self.text("node", nodes[0] if nodes else "")
        if found not in nodes:
            raise UsageError(f"Job {self.job.name!r} has no node {found!r}.")
        return found

    @property
    def worker(self) -> int:
        """The worker that is meant: the first one if none is named."""
        ranks = self.job.facts.workers
        found = self.text("worker", ranks[0] if ranks else "")
        if found not in ranks:
            raise UsageError(f"Job {self.job.name!r} has no worker {found!r}.")
        return int(found)
