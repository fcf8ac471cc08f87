"""Python profiles: windows, phases and call tree, as data frames."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from sonde.analyze.flame import Flame
from sonde.analyze.python_profile import short_file
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent, pluralize
from sonde.read.python_profiles import ReadProfile
from sonde.records.chart import Lane, Lanes, Span, Spec
from sonde.records.step import NO_STEP
from sonde.results.charts import bars
from sonde.results.tables import TIME, Frame, aligned
from sonde.store.tables import from_numpy, from_texts

_MAX_LINES = 30
_MAX_LANES = 40
_MIN_SHARE = 0.002  # narrower frames are invisible


class PythonWindows(tuple[ReadProfile, ...], Frame):
    """The profiled windows, in order."""

    def to_arrow(self) -> pa.Table:
        """One row per window."""
        profiles = [each.profile for each in self]
        starts = from_numpy(np.array([profile.start_ns for profile in profiles], dtype=np.int64))
        seconds = np.array(
            [profile.end_ns - profile.start_ns for profile in profiles], dtype=np.int64
        )
        return pa.table(
            {
                "worker": from_numpy(np.array([each.worker for each in self], dtype=np.int64)),
                "profiler": from_texts([profile.profiler.value for profile in profiles]),
                "timer": from_texts([profile.timer.value for profile in profiles]),
                "time": starts.cast(TIME),
                "seconds": from_numpy(seconds / NANOSECONDS),
                "steps": from_texts([_steps(each) for each in self]),
                "threads": from_texts([", ".join(profile.threads) for profile in profiles]),
            }
        )

    def __repr__(self) -> str:
        if not self:
            return "No Python profile recorded"
        rows = [
            (
                *(str(each.worker), each.profile.profiler.value, each.profile.timer.value),
                format_duration((each.profile.end_ns - each.profile.start_ns) / NANOSECONDS),
                _steps(each),
            )
            for each in self
        ]
        return aligned(
            [("worker", "profiler", "timer", "duration", "steps"), *rows], left_columns=5
        )


def _steps(window: ReadProfile) -> str:
    by_mode: dict[str, list[int]] = {}
    for mode, step in window.steps:
        if step != NO_STEP:
            by_mode.setdefault(mode, []).append(step)
    return ", ".join(f"{mode} {min(steps)}–{max(steps)}" for mode, steps in by_mode.items())


class PythonPhases(dict[tuple[str, str], float], Frame):
    """Seconds by mode and phase."""

    def to_arrow(self) -> pa.Table:
        """One row per mode and phase."""
        seconds = np.array([*self.values()], dtype=np.float64)
        return pa.table(
            {
                "mode": from_texts([mode for mode, _ in self]),
                "phase": from_texts([phase for _, phase in self]),
                "seconds": from_numpy(seconds),
                "percent": from_numpy(100 * seconds / (seconds.sum() or 1)),
            }
        )

    def __repr__(self) -> str:
        if not self:
            return "No matching data recorded"
        rows = [
            (
                row["mode"],
                row["phase"],
                format_duration(row["seconds"]),
                format_percent(row["percent"], 1),
            )
            for row in self.to_arrow().to_pylist()
        ]
        return aligned([("mode", "phase", "duration", "share"), *rows], left_columns=2)

    def _chart_spec(self) -> Spec:
        label = ("mode", "phase")
        return bars(self.to_arrow(), "Python time by phase", label, ("seconds",), "seconds")


@dataclass(frozen=True, repr=False)
class CallTree(Flame, Frame):
    """A call tree with the time of each frame."""

    @classmethod
    def of(cls, flame: Flame) -> "CallTree":
        """Wrap a flame graph as a data frame."""
        return cls(**{field.name: getattr(flame, field.name) for field in fields(flame)})

    def to_arrow(self) -> pa.Table:
        """One row per frame, a parent before its children; `parent` is a row number."""
        called = [self.functions[number] for number in self.frames.tolist()]
        return pa.table(
            {
                "function": from_texts([function.name for function in called]),
                "file": from_texts([function.file for function in called]),
                "line": from_numpy(
                    np.array([function.line for function in called], dtype=np.int64)
                ),
                "depth": from_numpy(np.array(self._depths, dtype=np.int64)),
                "parent": from_numpy(self.parents),
                "self_seconds": from_numpy(self.own_ns / NANOSECONDS),
                "total_seconds": from_numpy(self.total_ns / NANOSECONDS),
                "count": from_numpy(self.counts),
            }
        )

    @property
    def _depths(self) -> list[int]:
        depths: list[int] = []
        for parent in self.parents.tolist():
            depths.append(0 if parent < 0 else depths[parent] + 1)
        return depths

    def __repr__(self) -> str:
        """The longest frames, indented below their callers."""
        if not len(self.frames):
            return "No matching data recorded"
        shown = set(np.argsort(-self.total_ns, kind="stable")[:_MAX_LINES].tolist())
        rows = [("total", "self", "function")]
        rows += [self._line(index, depth) for index, depth in self._shown_frames(shown)]
        remaining = len(self.frames) - len(rows) + 1
        more = f"\n… and {pluralize(remaining, 'shorter frame')}" if remaining else ""
        return aligned(rows, left_columns=3) + more

    def _shown_frames(self, shown: set[int]) -> Iterator[tuple[int, int]]:
        return ((index, depth) for index, depth in enumerate(self._depths) if index in shown)

    def _line(self, index: int, depth: int) -> tuple[str, str, str]:
        called = self.functions[int(self.frames[index])]
        total, self_time = (
            format_duration(int(each[index]) / NANOSECONDS) for each in _times(self)
        )
        where = f" ({short_file(called.file)}:{called.line})" if called.file else ""
        return total, self_time, f"{'  ' * depth}{called.name}{where}"

    def _chart_spec(self) -> Spec:
        """A lane per depth; the width of a frame is its time."""
        starts_ns, lanes = self._starts_ns, [list[Span]() for _ in range(_MAX_LANES)]
        whole_ns = int(self.total_ns[self.parents < 0].sum())
        left_out = self.left_out
        for index, depth in enumerate(self._depths):
            took_ns = int(self.total_ns[index])
            if depth >= _MAX_LANES or took_ns < _MIN_SHARE * whole_ns:
                left_out += 1
                continue
            name = self.functions[int(self.frames[index])].name
            start, end = (
                each / NANOSECONDS for each in (starts_ns[index], starts_ns[index] + took_ns)
            )
            lanes[depth].append(Span(start=start, end=end, label=name, tone=name))
        return Lanes(
            title="Python call tree",
            note="Width is the total time of a function including callees; position is not time.",
            coarsened=f"{pluralize(left_out, 'short frame')} not shown." if left_out else "",
            lanes=tuple(
                Lane(label=f"depth {depth}", spans=tuple(spans))
                for depth, spans in enumerate(lanes)
                if spans
            ),
            end=whole_ns / NANOSECONDS,
        )

    @property
    def _starts_ns(self) -> list[int]:
        """Start of each frame if siblings are placed next to each other."""
        used_ns: dict[int, int] = {-1: 0}  # end of the last child, by parent
        starts_ns = []
        for index, parent in enumerate(self.parents.tolist()):
            start_ns = used_ns[parent]
            starts_ns.append(start_ns)
            used_ns[index] = start_ns
            used_ns[parent] = start_ns + int(self.total_ns[index])
        return starts_ns


def _times(tree: CallTree) -> "tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]":
    return tree.total_ns, tree.own_ns
