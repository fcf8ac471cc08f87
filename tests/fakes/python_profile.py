"""Build Python profiles from samples of stacks or timed calls."""

from typing import TYPE_CHECKING

from sonde.records.python_profile import Function, PythonProfile, PythonProfiler, PythonTimer
from sonde.store.layout import TRACE_SUFFIX, profile_key
from sonde.store.python_profiles import encode_profile
from tests.fakes.worker import FakeWorker

if TYPE_CHECKING:
    from collections.abc import Sequence

MILLISECOND_NS = 1_000_000
TRAINING = "training"

Frame = tuple[str, str, int]  # function, file (empty for built-ins), line
Stack = tuple[Frame, ...]


class FakeProfile:
    """A profile that begins now."""

    def __init__(self, worker: FakeWorker, *, first_step: int = 0) -> None:
        self._worker = worker
        self._first_step = first_step
        self._start_ns = worker.clock.now_ns()
        self._functions: list[Function] = []
        self._nodes: list[tuple[int, int, int]] = []
        self._threads = [TRAINING]
        self._times_ns: list[int] = []
        self._rows: list[tuple[int, int, int, int, int]] = []

    def add_samples(self, stack: Stack, count: int, thread: str = TRAINING) -> "FakeProfile":
        """Add samples of a stack in a thread, a millisecond each."""
        if thread == TRAINING:
            first = len(self._times_ns)
            begin_ns = self._times_ns[-1] if self._times_ns else self._start_ns
            self._times_ns += [begin_ns + (index + 1) * MILLISECOND_NS for index in range(count)]
        else:
            first = 0
            self._threads += [] if thread in self._threads else [thread]
        number = self._threads.index(thread)
        self._rows.append((first, number, self._node(stack), count, 0))
        return self

    def add_calls(self, stack: Stack, after: float, ns: int, calls: int = 1) -> "FakeProfile":
        """Add timed calls of a function, `after` seconds from the start."""
        time_ns = self._start_ns + round(after * 1e9)
        self._times_ns.append(time_ns)
        self._rows.append((len(self._times_ns) - 1, 0, self._node(stack), calls, ns))
        return self

    def write(
        self,
        profiler: PythonProfiler = PythonProfiler.STACKS,
        timer: PythonTimer = PythonTimer.TOTAL,
        number: int = 1,
    ) -> str:
        """Store the profile and return its key."""
        rows: Sequence[tuple[int, ...]] = list(zip(*self._rows, strict=True)) or [()] * 5
        nodes: Sequence[tuple[int, ...]] = list(zip(*self._nodes, strict=True)) or [()] * 3
        profile = PythonProfile(
            profiler=profiler,
            timer=timer,
            start_ns=self._start_ns,
            end_ns=self._times_ns[-1],
            functions=tuple(self._functions),
            parents=nodes[0],
            node_functions=nodes[1],
            node_lines=nodes[2],
            threads=tuple(self._threads),
            times_ns=tuple(self._times_ns),
            row_times=rows[0],
            row_threads=rows[1],
            row_nodes=rows[2],
            row_counts=rows[3],
            row_ns=rows[4] if profiler is PythonProfiler.CPROFILE else (),
            interval_ns=MILLISECOND_NS,
        )
        key = profile_key(self._worker.rank, "python", self._first_step, f"token_{number}")
        key += TRACE_SUFFIX
        self._worker.backend.write(key, encode_profile(profile, key))
        return key

    def _node(self, stack: Stack) -> int:
        parent = -1
        for name, file, line in stack:
            function = Function(name, file, 1 if file else 0)
            if function not in self._functions:
                self._functions.append(function)
            node = (parent, self._functions.index(function), line)
            if node not in self._nodes:
                self._nodes.append(node)
            parent = self._nodes.index(node)
        return parent
