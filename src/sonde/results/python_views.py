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

_MOST_LINES = 30
_MOST_LANES = 40
_LEAST_SHARE = 0.002  # narrower frames are invisible


class PythonWindows(tuple[ReadProfile, ...], Frame):
    """The profiled windows, in order."""

    def to_arrow(self) -> pa.Table:
        """One row per window."""
        profiles = [one.profile for one in self]
        starts = from_numpy(np.array([one.start_ns for one in profiles], dtype=np.int64))
        spent = np.array([one.end_ns - one.start_ns for one in profiles], dtype=np.int64)
        return pa.table(
            {
                "worker": from_numpy(np.array([one.worker for one in self], dtype=np.int64)),
                "profiler": from_texts([one.profiler.value for one in profiles]),
                "timer": from_texts([one.timer.value for one in profiles]),
                "time": starts.cast(TIME),
                "seconds": from_numpy(spent / NANOSECONDS),
                "steps": from_texts([_steps(one) for one in self]),
                "threads": from_texts([", ".join(one.threads) for one in profiles]),
            }
        )

    def __repr__(self) -> str:
        if not self:
            return "No Python profile recorded"
        rows = [
            (
                *(str(one.worker), one.profile.profiler.value, one.profile.timer.value),
                format_duration((one.profile.end_ns - one.profile.start_ns) / NANOSECONDS),
                _steps(one),
            )
            for one in self
        ]
        return aligned([("worker", "profiler", "timer", "duration", "steps"), *rows], left=5)


def _steps(window: ReadProfile) -> str:
    by_mode: dict[str, list[int]] = {}
    for mode, step in window.steps:
        if step != NO_STEP:
            by_mode.setdefault(mode, []).append(step)
    return ", ".join(f"{mode} {min(own)}–{max(own)}" for mode, own in by_mode.items())


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
        return aligned([("mode", "phase", "duration", "share"), *rows], left=2)

    def _picture(self) -> Spec:
        label = ("mode", "phase")
        return bars(self.to_arrow(), "Python time by phase", label, ("seconds",), "seconds")


@dataclass(frozen=True, repr=False)
class CallTree(Flame, Frame):
    """A call tree with the time of each frame."""

    @classmethod
    def of(cls, flame: Flame) -> "CallTree":
        """Wrap a flame graph as a data frame."""
        return cls(**{one.name: getattr(flame, one.name) for one in fields(flame)})

    def to_arrow(self) -> pa.Table:
        """One row per frame, a parent before its children; `parent` is a row number."""
        called = [self.functions[number] for number in self.frames.tolist()]
        return pa.table(
            {
                "function": from_texts([one.name for one in called]),
                "file": from_texts([one.file for one in called]),
                "line": from_numpy(np.array([one.line for one in called], dtype=np.int64)),
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
        kept = set(np.argsort(-self.total_ns, kind="stable")[:_MOST_LINES].tolist())
        rows = [("total", "self", "function")]
        rows += [self._line(place, depth) for place, depth in self._shown_frames(kept)]
        left = len(self.frames) - len(rows) + 1
        more = f"\n… and {pluralize(left, 'shorter frame')}" if left else ""
        return aligned(rows, left=3) + more

    def _shown_frames(self, kept: set[int]) -> Iterator[tuple[int, int]]:
        return ((place, depth) for place, depth in enumerate(self._depths) if place in kept)

    def _line(self, place: int, depth: int) -> tuple[str, str, str]:
        called = self.functions[int(self.frames[place])]
        total, own = (format_duration(int(one[place]) / NANOSECONDS) for one in _times(self))
        where = f" ({short_file(called.file)}:{called.line})" if called.file else ""
        return total, own, f"{'  ' * depth}{called.name}{where}"

    def _picture(self) -> Spec:
        """A lane per depth; the width of a frame is its time."""
        starts_ns, lanes = self._starts_ns, [list[Span]() for _ in range(_MOST_LANES)]
        whole_ns = int(self.total_ns[self.parents < 0].sum())
        left_out = self.left_out
        for place, depth in enumerate(self._depths):
            took_ns = int(self.total_ns[place])
            if depth >= _MOST_LANES or took_ns < _LEAST_SHARE * whole_ns:
                left_out += 1
                continue
            name = self.functions[int(self.frames[place])].name
            start, end = (
                one / NANOSECONDS for one in (starts_ns[place], starts_ns[place] + took_ns)
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
        for place, parent in enumerate(self.parents.tolist()):
            start_ns = used_ns[parent]
            starts_ns.append(start_ns)
            used_ns[place] = start_ns
            used_ns[parent] = start_ns + int(self.total_ns[place])
        return starts_ns


def _times(tree: CallTree) -> "tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]":
    return tree.total_ns, tree.own_ns
