"""The words for where Python spends its time: functions, places in a tree of calls, and amounts."""

from dataclasses import dataclass
from enum import StrEnum


class PythonProfiler(StrEnum):
    """How a profile of Python is made."""

    STACKS = "stacks"  # all threads are looked at, every millisecond
    CPROFILE = "cprofile"  # every call of the training thread is counted


class PythonTimer(StrEnum):
    """Which time is counted."""

    TOTAL = "total"  # on the wall
    CPU = "cpu"  # of the thread, computing
    OFF_CPU = "off_cpu"  # the rest: the thread waits


@dataclass(frozen=True, slots=True, order=True)
class Function:
    """A function: its file and the line of its `def`; neither for what is built in."""

    name: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class PythonProfile:
    """What one window saw, as columns; a time is an instant in nanoseconds.

    A node is a place in the tree of calls: a line of a function, called from the node that is its
    parent. Parents come before their children; a parent of -1 is none.

    With `stacks` a row is a thread that stood at a node for some ticks, `times_ns` are the ticks,
    and the stretch before a tick is what it weighs. With `cprofile` a row is what a node took in
    one of the segments between two moments at which a phase may have begun or ended, `times_ns`
    are the middles of the segments, and a row has its own calls and nanoseconds.
    """

    profiler: PythonProfiler
    timer: PythonTimer
    start_ns: int
    end_ns: int
    functions: tuple[Function, ...]
    parents: tuple[int, ...]
    node_functions: tuple[int, ...]
    node_lines: tuple[int, ...]
    threads: tuple[str, ...]  # the first one trains
    times_ns: tuple[int, ...]
    row_times: tuple[int, ...]  # numbers of times
    row_threads: tuple[int, ...]
    row_nodes: tuple[int, ...]
    row_counts: tuple[int, ...]  # ticks, or calls
    row_ns: tuple[int, ...] = ()
    interval_ns: int = 0  # between two ticks, as it was meant
    late_ns: int = 0  # by how much ticks came too late, in all
    latest_ns: int = 0
    own_ns: int = 0  # what is left out: our own part of the training thread
    is_cut: bool = False  # there was more than is kept
