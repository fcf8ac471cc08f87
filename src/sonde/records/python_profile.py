"""Python profiles: functions, nodes of a call tree, and the time spent in them."""

from dataclasses import dataclass
from enum import StrEnum


class PythonProfiler(StrEnum):
    """How a Python profile is recorded."""

    STACKS = "stacks"  # samples the stacks of all threads every millisecond
    CPROFILE = "cprofile"  # counts every call of the training thread


class PythonTimer(StrEnum):
    """Which time is measured."""

    TOTAL = "total"  # wall-clock time
    CPU = "cpu"  # CPU time of the thread
    OFF_CPU = "off_cpu"  # time the thread waits


@dataclass(frozen=True, slots=True, order=True)
class Function:
    """A function with its file and the line of its `def`; built-in functions have neither."""

    name: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class PythonProfile:
    """The profile of one window, as columns; times are instants in nanoseconds.

    A node of the call tree is a line of a function, called from its parent node. Parents come
    before their children; roots have the parent -1.

    With `stacks`, `times_ns` are the sampling ticks, and a row counts the ticks at which a thread
    was at a node; a tick represents the time since the previous one. With `cprofile`, time is
    divided into segments at phase boundaries, `times_ns` are the middles of the segments, and a
    row holds the calls and nanoseconds of a node in one segment.
    """

    profiler: PythonProfiler
    timer: PythonTimer
    start_ns: int
    end_ns: int
    functions: tuple[Function, ...]
    parents: tuple[int, ...]
    node_functions: tuple[int, ...]
    node_lines: tuple[int, ...]
    threads: tuple[str, ...]  # the first is the training thread
    times_ns: tuple[int, ...]
    row_times: tuple[int, ...]  # indices into times_ns
    row_threads: tuple[int, ...]
    row_nodes: tuple[int, ...]
    row_counts: tuple[int, ...]  # ticks, or calls
    row_ns: tuple[int, ...] = ()
    interval_ns: int = 0  # the requested time between two ticks
    late_ns: int = 0  # total delay of ticks
    latest_ns: int = 0
    own_ns: int = 0  # Sonde's time in the training thread, excluded
    is_cut: bool = False  # the profile exceeded the size limit
