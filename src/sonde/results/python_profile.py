"""Python time by function, file, slow step and mode, as data frames."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.analyze.flame import flame_of
from sonde.analyze.outliers import STEP_FACTOR
from sonde.analyze.python_profile import (
    Amounts,
    Compared,
    Hot,
    Label,
    compare,
    hot,
    of_file,
    of_function,
    of_module,
    outlier_steps,
    short_file,
)
from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.formats import format_duration, format_percent, pluralize
from sonde.read.python_profiles import Moment, ReadProfile, read_python_profiles
from sonde.read.steps import read_steps
from sonde.read.workers import WorkerReader
from sonde.records.chart import Spec
from sonde.records.python_profile import PythonProfiler
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.records.step import NO_STEP, Mode
from sonde.results.charts import bars
from sonde.results.python_views import CallTree, PythonPhases, PythonWindows
from sonde.results.tables import Frame, aligned
from sonde.results.times import Moment as When
from sonde.results.times import instant_of
from sonde.store.tables import from_numpy, from_texts, inside_of

_LABELS: dict[str, Label] = {"function": of_function, "file": of_file, "module": of_module}
_SHOWN = 20
_LONGEST_NAME = 60
_SINCE_EPOCH = partial(instant_of, start_ns=0)


@dataclass(frozen=True)
class PythonChoice:
    """Filters for profiles; None matches everything."""

    profiler: str | None = None
    mode: str | None = None
    phase: str | None = None
    thread: str | None = None  # None: the training thread
    steps: StepRange = ANY_STEP
    within: TimeRange = EVER

    def has(self, moment: Moment) -> bool:
        """Whether a moment matches."""
        first, end = self.steps.start, self.steps.end
        return (
            self.mode in (None, moment.mode)
            and self.phase in (None, moment.phase)
            and (first is None or moment.step >= first)
            and (end is None or moment.step < end)
        )


@dataclass(frozen=True)
class PythonTime(Frame):
    """Python time of workers by function; read on first use."""

    readers: tuple[WorkerReader, ...]
    choice: PythonChoice = PythonChoice()
    instant: Callable[[When], int | None] = _SINCE_EPOCH

    @cached_property
    def damages(self) -> list[str]:
        """Errors of files that could not be read."""
        return []

    @cached_property
    def windows(self) -> PythonWindows:
        """The profiles of the requested profiler; by default of the one used last."""
        found = [
            one for reader in self.readers for one in read_python_profiles(reader, self.damages)
        ]
        wanted = self.choice.profiler
        if wanted is None and found:
            wanted = max(found, key=lambda one: one.profile.start_ns).profile.profiler
        return PythonWindows(one for one in found if one.profile.profiler == wanted)

    @property
    def profiler(self) -> str:
        """The name of the profiler."""
        return self.windows[0].profile.profiler.value if self.windows else ""

    def to_arrow(self) -> pa.Table:
        """One row per function, most self time first."""
        return self.by("function").to_arrow()

    def top(self, max_rows: int = _SHOWN, *, by: str = "self") -> "HotTable":
        """The functions with the most time.

        Args:
            max_rows: Number of functions.
            by: `self` or `total` time, or a count: `calls` (cProfile) or `looks` (stack samples).
        """
        return self.by("function").top(max_rows, by=by)

    def by(self, what: str) -> "HotTable":
        """Time by `function`, `file` or `module`."""
        if what not in _LABELS:
            raise UsageError(f"Unknown grouping {what!r}. Known: {', '.join(_LABELS)}")
        return HotTable(
            tuple(hot(self._parts(self.choice.has), _LABELS[what])), what, self._counted
        )

    def between(self, start: When = None, end: When = None) -> "PythonTime":
        """The profile between two times.

        Args:
            start: A time, as for `job.system`.
            end: Likewise; not included.
        """
        within = TimeRange(self.instant(start), self.instant(end))
        return replace(self, choice=replace(self.choice, within=within))

    def flame(self, min_share: float = 0.0) -> CallTree:
        """The call tree over all windows.

        Args:
            min_share: Frames below this share of the total time are excluded.
        """
        return CallTree.of(flame_of(self._parts(self.choice.has), min_share))

    def outliers(self, factor: float = STEP_FACTOR) -> "Comparison":
        """Compare functions in slow training steps and in the others.

        Args:
            factor: A step is slow above this multiple of the median.
        """
        slow = self._slow_steps(factor)
        names = ("slow steps", "other steps")
        if not slow:
            why = f"No profiled training step took longer than {factor:g}× the median"
            return Comparison(names, (), (), why)
        groups: dict[str, tuple[list[Amounts], int]] = {name: ([], 0) for name in names}
        for window in self.windows:
            seen = {step for mode, step in window.steps if mode == Mode.TRAIN}
            mine = {step for worker, step in slow if worker == window.worker}
            for name, steps in zip(names, (seen & mine, seen - mine), strict=True):
                parts, count = groups[name]
                part = self._part(window, self.choice.has)
                is_in = np.isin(window.training_steps[part.times], sorted(steps))
                groups[name] = ([*parts, part.take(is_in)], count + len(steps))
        return Comparison(names, tuple(compare(groups)), tuple(sorted(slow)))

    def modes(self) -> "Comparison":
        """Compare functions in training and evaluation, per step."""
        found = sorted({mode for mode, _ in self.phases()})
        groups = {}
        for mode in found:
            steps = sum(one[0] == mode for window in self.windows for one in window.steps)
            groups[mode] = (self._parts(self._is_in(mode)), steps)
        only = f": all profiled steps are {found[0]} steps" if found else ""
        why = f"Fewer than two modes to compare{only}"
        return Comparison(tuple(found), tuple(compare(groups)) if len(found) > 1 else (), (), why)

    def phases(self) -> PythonPhases:
        """Time by mode and phase."""
        moments = {one for window in self.windows for one in window.moments}
        kinds = sorted({(one.mode, one.phase) for one in moments if self.choice.has(one)})
        found = PythonPhases()
        for kind in kinds:
            seconds = sum(part.seconds for part in self._parts(self._is_in(*kind)))
            if seconds:
                found[kind] = seconds
        return found

    def _is_in(self, mode: str, phase: str | None = None) -> Callable[[Moment], bool]:
        choice = self.choice
        return lambda one: one.mode == mode and phase in (None, one.phase) and choice.has(one)

    @cached_property
    def _amounts(self) -> dict[int, Amounts]:
        return {id(window): Amounts.of(window.profile) for window in self.windows}

    @property
    def _counted(self) -> str:
        return "calls" if self.profiler == PythonProfiler.CPROFILE else "looks"

    def _parts(self, is_wanted: Callable[[Moment], bool]) -> list[Amounts]:
        return [self._part(window, is_wanted) for window in self.windows]

    def _part(self, window: ReadProfile, is_wanted: Callable[[Moment], bool]) -> Amounts:
        amounts = self._amounts[id(window)]
        wanted = np.array([is_wanted(one) for one in window.moments], dtype=np.bool_)
        within = self.choice.within
        times_ns = np.array(window.profile.times_ns, dtype=np.int64)
        wanted_times = wanted[window.times] & inside_of(times_ns, within.start_ns, within.end_ns)
        here = wanted_times[amounts.times] if len(window.times) else amounts.times < 0
        return amounts.take(here & self._threads(window)[amounts.threads])

    def _threads(self, window: ReadProfile) -> Any:
        names, wanted = window.profile.threads, self.choice.thread
        if wanted is None:
            return np.arange(len(names)) == 0
        if wanted != "*" and wanted not in names:
            raise UsageError(f"Unknown thread {wanted!r}. Known: *, {', '.join(names)}")
        return np.array([wanted in ("*", name) for name in names], dtype=np.bool_)

    def _slow_steps(self, factor: float) -> set[tuple[int, int]]:
        slow = set()
        for reader in self.readers:
            seen = {
                step
                for window in self.windows
                for mode, step in window.steps
                if window.worker == reader.rank and mode == Mode.TRAIN
            }
            if seen:
                table = read_steps(reader, Mode.TRAIN.value, StepRange(min(seen), max(seen) + 1))
                pairs = zip(table.steps.tolist(), table.durations_ns.tolist(), strict=True)
                durations = {step: ns / NANOSECONDS for step, ns in pairs if step in seen}
                slow |= {(reader.rank, step) for step in outlier_steps(durations, factor)}
        return slow

    def __repr__(self) -> str:
        if not self.windows:
            return "No Python profile recorded"
        steps = {one for window in self.windows for one in window.steps if one[1] != NO_STEP}
        windows = pluralize(len(self.windows), "window")
        said = f"{self.profiler} of {pluralize(len(steps), 'step')} in {windows}"
        return f"{said}; functions by self time:\n{self.top()}"

    def _picture(self) -> Spec:
        return self.top().plot().spec


@dataclass(frozen=True)
class HotTable(Frame):
    """Time by function, file or module."""

    rows: tuple[Hot, ...]
    what: str
    counted: str

    def __len__(self) -> int:
        return len(self.rows)

    def top(self, max_rows: int = _SHOWN, *, by: str = "self") -> "HotTable":
        """The first rows, by `self` or `total` time or by count."""
        fields = {"self": "self_seconds", "total": "total_seconds", self.counted: "count"}
        if by not in fields:
            raise UsageError(f"Unknown order {by!r}. Known: {', '.join(fields)}")
        rows = sorted(self.rows, key=lambda one: -getattr(one, fields[by]))
        return HotTable(tuple(rows[:max_rows]), self.what, self.counted)

    def to_arrow(self) -> pa.Table:
        """One row each."""
        return pa.table(
            {
                self.what: from_texts([one.name for one in self.rows]),
                "file": from_texts([one.file for one in self.rows]),
                "line": from_numpy(np.array([one.line for one in self.rows], dtype=np.int64)),
                **{
                    name: from_numpy(np.array([getattr(one, name) for one in self.rows]))
                    for name in ("self_seconds", "total_seconds", "self_percent", "total_percent")
                },
                self.counted: from_numpy(np.array([one.count for one in self.rows], np.int64)),
            }
        )

    def __repr__(self) -> str:
        if not self.rows:
            return "No matching data recorded"
        titles = (self.what, "where", "self", "share", "total", "share", self.counted)
        rows = [
            (
                one.name[-_LONGEST_NAME:],
                short_where(one.where),
                format_duration(one.self_seconds),
                format_percent(one.self_percent, 1),
                format_duration(one.total_seconds),
                format_percent(one.total_percent, 1),
                str(one.count),
            )
            for one in self.rows
        ]
        return aligned([titles, *rows], left=2)

    def _picture(self) -> Spec:
        values = ("self_seconds", "total_seconds")
        return bars(self.to_arrow(), "Python time", self.what, values, "seconds")


@dataclass(frozen=True)
class Comparison(Frame):
    """Functions in groups of steps, seconds per step; the largest difference first."""

    groups: tuple[str, ...]
    rows: tuple[Compared, ...]
    slow: tuple[tuple[int, int], ...]  # worker and step, if slow steps are compared
    nothing: str = "No data to compare"

    def __len__(self) -> int:
        return len(self.rows)

    def to_arrow(self) -> pa.Table:
        """One row per function; self and total seconds per step of each group."""
        columns: dict[str, Any] = {
            "function": from_texts([one.function.name for one in self.rows]),
            "where": from_texts([one.where for one in self.rows]),
        }
        for place, group in enumerate(self.groups):
            for kind in ("self_seconds", "total_seconds"):
                values = np.array([getattr(one, kind)[place] for one in self.rows])
                columns[f"{group.replace(' ', '_')}_{kind}"] = from_numpy(values)
        return pa.table(columns)

    def __repr__(self) -> str:
        if not self.rows:
            return self.nothing
        titles = ("function", "where", *self.groups)
        rows = [
            (
                one.function.name[-_LONGEST_NAME:],
                short_where(one.where),
                *(format_duration(seconds) for seconds in one.self_seconds),
            )
            for one in self.rows[:_SHOWN]
        ]
        return aligned([titles, *rows], left=2)

    def _picture(self) -> Spec:
        values = [f"{group.replace(' ', '_')}_self_seconds" for group in self.groups]
        return bars(self.to_arrow(), "Self time per step", "function", values, "seconds")


def short_where(where: str) -> str:
    """File and line with a shortened path."""
    file, mark, line = where.rpartition(":")
    return f"{short_file(file)}:{line}" if mark else where
