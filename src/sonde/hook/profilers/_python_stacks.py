"""Sample the stacks of all threads every millisecond, from a separate thread.

A sample needs the interpreter lock. While another thread runs Python code, the sample is late by up
to the switch interval, so each sample is weighted by the time since the previous one. The default
interval of 5 ms would attribute shorter pieces of Python code to the framework call that follows
them, so it is reduced while sampling, unless the script has set a shorter one.
"""

import sys
import threading
from sys import _current_frames

from sonde.clock import NANOSECONDS, Clock
from sonde.guard import Guard
from sonde.hook.profilers._python_tree import OURS, TRAINING, CallTree
from sonde.records.python_profile import PythonProfile, PythonProfiler, PythonTimer

_MAX_SAMPLES = 200_000  # and rows; sampling slows down as their number grows
_OURS = "sonde-"
_SWITCH_SECONDS = 0.0005


class _StackRows:
    """Sampled stacks: one row per run of equal consecutive stacks of a thread."""

    def __init__(self) -> None:
        self.tree = CallTree()
        self.times_ns: list[int] = []
        self.rows: list[list[int]] = []  # first sample, thread, node, number of samples
        self.threads: list[str] = [TRAINING]
        self.excluded_ns = 0  # time of the training thread in Sonde's code
        self._last_rows: dict[int, list[int]] = {}  # by thread
        self._numbers: dict[int, int] = {threading.get_ident(): 0}  # threads by identifier

    @property
    def size(self) -> int:
        """Number of samples or rows, whichever is larger."""
        return max(len(self.times_ns) - 1, len(self.rows))

    def add(self, at_ns: int, weight_ns: int) -> None:
        """Sample the stacks of all threads."""
        sample = len(self.times_ns)
        self.times_ns.append(at_ns)
        for ident, frame in _current_frames().items():
            number = self._numbers.get(ident)
            if number is None:
                number = self._add_thread(ident)
            if number < 0:
                continue
            node = self.tree.stack(frame)
            last = self._last_rows.get(number)
            if last is not None and last[2] == node and last[0] + last[3] == sample:
                last[3] += 1
            else:
                self._last_rows[number] = row = [sample, number, node, 1]
                self.rows.append(row)
            if node == OURS and number == 0:
                self.excluded_ns += weight_ns

    def _add_thread(self, ident: int) -> int:
        """Number a new thread; Sonde's threads get a negative number."""
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        name = names.get(ident, "")
        if name.startswith(_OURS):
            self._numbers[ident] = -1
            return -1
        self._numbers[ident] = len(self.threads)
        self.threads.append(name or f"unnamed thread {len(self.threads)}")
        return self._numbers[ident]


class StackSampler:
    """Samples the stacks of all threads, until `end`."""

    def __init__(self, clock: Clock, guard: Guard, interval_ns: int) -> None:
        self._clock = clock
        self._guard = guard
        self.interval_ns = self._initial_interval_ns = interval_ns
        self._stacks = _StackRows()
        self._slower_at = _MAX_SAMPLES // 2
        self._late_ns = self._latest_ns = 0
        self._ending = threading.Lock()
        self._ending.acquire()
        self.start_ns = clock.now_ns()
        self._thread = threading.Thread(target=self._run, name=f"{_OURS}python", daemon=True)

    def start(self) -> None:
        """Start sampling; must be called in the training thread."""
        self._switch_seconds = sys.getswitchinterval()
        if self._switch_seconds > _SWITCH_SECONDS:
            sys.setswitchinterval(_SWITCH_SECONDS)
        self._thread.start()

    @property
    def samples(self) -> int:
        """Number of samples so far."""
        return len(self._stacks.times_ns)

    def end(self) -> None:
        """Stop sampling; the profile is complete when the sampling thread has ended."""
        self._ending.release()
        if sys.getswitchinterval() == _SWITCH_SECONDS:  # unless the script has changed it
            sys.setswitchinterval(self._switch_seconds)

    def profile(self) -> PythonProfile:
        """The recorded profile; waits for the sampling thread, so call it in the worker thread."""
        if self._thread.ident is not None:
            self._thread.join()
        stacks = self._stacks
        rows = [row for row in stacks.rows if row[2] >= 0]
        return PythonProfile(
            profiler=PythonProfiler.STACKS,
            timer=PythonTimer.TOTAL,
            start_ns=self.start_ns,
            end_ns=stacks.times_ns[-1] if stacks.times_ns else self.start_ns,
            functions=tuple(stacks.tree.functions),
            parents=tuple(stacks.tree.parents),
            node_functions=tuple(stacks.tree.node_functions),
            node_lines=tuple(stacks.tree.lines),
            threads=tuple(stacks.threads),
            times_ns=tuple(stacks.times_ns),
            row_times=tuple(row[0] for row in rows),
            row_threads=tuple(row[1] for row in rows),
            row_nodes=tuple(row[2] for row in rows),
            row_counts=tuple(row[3] for row in rows),
            interval_ns=self._initial_interval_ns,
            late_ns=self._late_ns,
            latest_ns=self._latest_ns,
            own_ns=stacks.excluded_ns,
            is_cut=stacks.tree.is_cut,
        )

    def _run(self) -> None:
        self._guard.call("Python stacks", self._sample_until_end, None)

    def _sample_until_end(self) -> None:
        now_ns, wait = self._clock.now_ns, self._ending.acquire
        previous_ns = due_ns = self.start_ns
        while True:
            due_ns += self.interval_ns
            pause_ns = due_ns - now_ns()
            if pause_ns <= 0:  # missed samples are skipped
                pause_ns, due_ns = self.interval_ns, due_ns + self.interval_ns - pause_ns
            if wait(timeout=pause_ns / NANOSECONDS):
                return
            at_ns = now_ns()
            self._late_ns += max(0, at_ns - due_ns)
            self._latest_ns = max(self._latest_ns, at_ns - due_ns)
            self.sample(at_ns, at_ns - previous_ns)
            previous_ns = at_ns

    def sample(self, at_ns: int, weight_ns: int) -> None:
        """Take one sample, and slow down if there are many."""
        self._stacks.add(at_ns, weight_ns)
        if self._stacks.size >= self._slower_at:
            self.interval_ns *= 2
            self._slower_at += max(1, (_MAX_SAMPLES - self._slower_at) // 2)
