"""Python time by function, file, slow step and mode, as data frames."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.analyze.flame import flame_of
from sonde.analyze.outliers import STEP_FACTOR, outlier_limit
from sonde.analyze.python_profile import (
    FunctionComparison,
    HotSpot,
    Label,
    NodeTimes,
    compare_functions,
    hot_spots,
    of_file,
    of_function,
    of_module,
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
_MAX_NAME_LENGTH = 60
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
        profiles = [
            profile
            for reader in self.readers
            for profile in read_python_profiles(reader, self.damages)
        ]
        profiler = self.choice.profiler
        if profiler is None and profiles:
            profiler = max(profiles, key=lambda each: each.profile.start_ns).profile.profiler
        return PythonWindows(each for each in profiles if each.profile.profiler == profiler)

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
            raise UsageError(f"Unknown grouping {what!r}. Available: {', '.join(_LABELS)}")
        return HotTable(
            tuple(hot_spots(self._all_amounts(self.choice.has), _LABELS[what])), what, self._counted
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
        return CallTree.of(flame_of(self._all_amounts(self.choice.has), min_share))

    def outliers(self, factor: float = STEP_FACTOR) -> "Comparison":
        """Compare functions in slow training steps and in the others.

        Args:
            factor: A step is slow above this multiple of the median and three deviations above it.
        """
        slow = self._slow_steps(factor)
        names = ("slow steps", "other steps")
        if not slow:
            why = f"No profiled training step took longer than {factor:g}× the median"
            return Comparison(names, (), (), why)
        groups: dict[str, tuple[list[NodeTimes], int]] = {name: ([], 0) for name in names}
        for window in self.windows:
            profiled = {step for mode, step in window.steps if mode == Mode.TRAIN}
            slow_here = {step for worker, step in slow if worker == window.worker}
            for name, steps in zip(
                names, (profiled & slow_here, profiled - slow_here), strict=True
            ):
                amounts_list, count = groups[name]
                node_times = self._amounts_of(window, self.choice.has)
                is_in = np.isin(window.training_steps[node_times.times], sorted(steps))
                groups[name] = ([*amounts_list, node_times.take(is_in)], count + len(steps))
        return Comparison(names, tuple(compare_functions(groups)), tuple(sorted(slow)))

    def modes(self) -> "Comparison":
        """Compare functions in training and evaluation, per step."""
        modes = sorted({mode for mode, _ in self.phases()})
        groups = {}
        for mode in modes:
            steps = sum(step[0] == mode for window in self.windows for step in window.steps)
            groups[mode] = (self._all_amounts(self._is_in(mode)), steps)
        only = f": all profiled steps are {modes[0]} steps" if modes else ""
        why = f"Fewer than two modes to compare{only}"
        return Comparison(
            tuple(modes), tuple(compare_functions(groups)) if len(modes) > 1 else (), (), why
        )

    def phases(self) -> PythonPhases:
        """Time by mode and phase."""
        moments = {moment for window in self.windows for moment in window.moments}
        kinds = sorted(
            {(moment.mode, moment.phase) for moment in moments if self.choice.has(moment)}
        )
        phases = PythonPhases()
        for kind in kinds:
            seconds = sum(
                node_times.seconds for node_times in self._all_amounts(self._is_in(*kind))
            )
            if seconds:
                phases[kind] = seconds
        return phases

    def _is_in(self, mode: str, phase: str | None = None) -> Callable[[Moment], bool]:
        choice = self.choice
        return lambda each: each.mode == mode and phase in (None, each.phase) and choice.has(each)

    @cached_property
    def _amounts(self) -> dict[int, NodeTimes]:
        return {id(window): NodeTimes.of(window.profile) for window in self.windows}

    @property
    def _counted(self) -> str:
        return "calls" if self.profiler == PythonProfiler.CPROFILE else "looks"

    def _all_amounts(self, matches: Callable[[Moment], bool]) -> list[NodeTimes]:
        return [self._amounts_of(window, matches) for window in self.windows]

    def _amounts_of(self, window: ReadProfile, matches: Callable[[Moment], bool]) -> NodeTimes:
        node_times = self._amounts[id(window)]
        is_match = np.array([matches(moment) for moment in window.moments], dtype=np.bool_)
        within = self.choice.within
        times_ns = np.array(window.profile.times_ns, dtype=np.int64)
        is_match_time = is_match[window.times] & inside_of(times_ns, within.start_ns, within.end_ns)
        is_selected = is_match_time[node_times.times] if len(window.times) else node_times.times < 0
        return node_times.take(is_selected & self._threads(window)[node_times.threads])

    def _threads(self, window: ReadProfile) -> Any:
        names, thread = window.profile.threads, self.choice.thread
        if thread is None:
            return np.arange(len(names)) == 0
        if thread != "*" and thread not in names:
            raise UsageError(f"Unknown thread {thread!r}. Available: *, {', '.join(names)}")
        return np.array([thread in ("*", name) for name in names], dtype=np.bool_)

    def _slow_steps(self, factor: float) -> set[tuple[int, int]]:
        slow = set()
        for reader in self.readers:
            profiled = {
                step
                for window in self.windows
                for mode, step in window.steps
                if window.worker == reader.rank and mode == Mode.TRAIN
            }
            if profiled:
                table = read_steps(
                    reader, Mode.TRAIN.value, StepRange(min(profiled), max(profiled) + 1)
                )
                is_profiled = np.isin(table.steps, sorted(profiled))
                seconds = table.durations_ns / NANOSECONDS
                limit = outlier_limit(seconds[is_profiled], factor=factor)
                steps = table.steps[is_profiled & (seconds > limit)].tolist()
                slow |= {(reader.rank, step) for step in steps}
        return slow

    def __repr__(self) -> str:
        if not self.windows:
            return "No Python profile recorded"
        steps = {step for window in self.windows for step in window.steps if step[1] != NO_STEP}
        windows = pluralize(len(self.windows), "window")
        header = f"{self.profiler} of {pluralize(len(steps), 'step')} in {windows}"
        return f"{header}; functions by self time:\n{self.top()}"

    def _chart_spec(self) -> Spec:
        return self.top().plot().spec


@dataclass(frozen=True)
class HotTable(Frame):
    """Time by function, file or module."""

    rows: tuple[HotSpot, ...]
    what: str
    counted: str

    def __len__(self) -> int:
        return len(self.rows)

    def top(self, max_rows: int = _SHOWN, *, by: str = "self") -> "HotTable":
        """The first rows, by `self` or `total` time or by count."""
        fields = {"self": "self_seconds", "total": "total_seconds", self.counted: "count"}
        if by not in fields:
            raise UsageError(f"Unknown order {by!r}. Available: {', '.join(fields)}")
        rows = sorted(self.rows, key=lambda row: -getattr(row, fields[by]))
        return HotTable(tuple(rows[:max_rows]), self.what, self.counted)

    def to_arrow(self) -> pa.Table:
        """One row per function, file or module."""
        return pa.table(
            {
                self.what: from_texts([row.name for row in self.rows]),
                "file": from_texts([row.file for row in self.rows]),
                "line": from_numpy(np.array([row.line for row in self.rows], dtype=np.int64)),
                **{
                    name: from_numpy(np.array([getattr(row, name) for row in self.rows]))
                    for name in ("self_seconds", "total_seconds", "self_percent", "total_percent")
                },
                self.counted: from_numpy(np.array([row.count for row in self.rows], np.int64)),
            }
        )

    def __repr__(self) -> str:
        if not self.rows:
            return "No matching data recorded"
        counted = "samples" if self.counted == "looks" else self.counted
        titles = (self.what, "where", "self", "share", "total", "share", counted)
        rows = [
            (
                row.name[-_MAX_NAME_LENGTH:],
                short_where(row.where),
                format_duration(row.self_seconds),
                format_percent(row.self_percent, 1),
                format_duration(row.total_seconds),
                format_percent(row.total_percent, 1),
                str(row.count),
            )
            for row in self.rows
        ]
        return aligned([titles, *rows], left_columns=2)

    def _chart_spec(self) -> Spec:
        values = ("self_seconds", "total_seconds")
        return bars(self.to_arrow(), "Python time", self.what, values, "seconds")


@dataclass(frozen=True)
class Comparison(Frame):
    """Functions in groups of steps, seconds per step; the largest difference first."""

    groups: tuple[str, ...]
    rows: tuple[FunctionComparison, ...]
    slow: tuple[tuple[int, int], ...]  # worker and step, if slow steps are compared
    nothing: str = "No data to compare"

    def __len__(self) -> int:
        return len(self.rows)

    def to_arrow(self) -> pa.Table:
        """One row per function; self and total seconds per step of each group."""
        columns: dict[str, Any] = {
            "function": from_texts([row.function.name for row in self.rows]),
            "where": from_texts([row.where for row in self.rows]),
        }
        for index, group in enumerate(self.groups):
            for kind in ("self_seconds", "total_seconds"):
                values = np.array([getattr(row, kind)[index] for row in self.rows])
                columns[f"{group.replace(' ', '_')}_{kind}"] = from_numpy(values)
        return pa.table(columns)

    def __repr__(self) -> str:
        if not self.rows:
            return self.nothing
        titles = ("function", "where", *self.groups)
        rows = [
            (
                row.function.name[-_MAX_NAME_LENGTH:],
                short_where(row.where),
                *(format_duration(seconds) for seconds in row.self_seconds),
            )
            for row in self.rows[:_SHOWN]
        ]
        return aligned([titles, *rows], left_columns=2)

    def _chart_spec(self) -> Spec:
        values = [f"{group.replace(' ', '_')}_self_seconds" for group in self.groups]
        return bars(self.to_arrow(), "Self time per step", "function", values, "seconds")


def short_where(where: str) -> str:
    """File and line with a shortened path."""
    file, mark, line = where.rpartition(":")
    return f"{short_file(file)}:{line}" if mark else where
