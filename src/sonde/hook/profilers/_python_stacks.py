"""Where all threads stand, looked at every millisecond from a thread of our own.

A look needs the interpreter's lock: while another thread computes in Python it comes late, by up
to the switch interval. So a look weighs as much as the time since the one before it. The usual
interval of 5 ms would hide every shorter piece of Python behind the call of the framework that
follows it: while we look it is shorter, unless the script has chosen one that is shorter still.
"""

import sys
import threading
from sys import _current_frames

from sonde.clock import NANOSECONDS, Clock
from sonde.guard import Guard
from sonde.hook.profilers._python_tree import OURS, TRAINING, CallTree
from sonde.records.python_profile import PythonProfile, PythonProfiler, PythonTimer

_MOST_LOOKS = 200_000  # and as many rows; the more there are, the rarer they become
_OURS = "sonde-"
_SWITCH_SECONDS = 0.0005


class StackSampler:
    """Looks at all threads until it is told to end."""

    def __init__(self, clock: Clock, guard: Guard, interval_ns: int) -> None:
        self._clock = clock
        self._guard = guard
        self.interval_ns = self._meant_ns = interval_ns
        self._tree = CallTree()
        self._times_ns: list[int] = []
        self._rows: list[list[int]] = []  # first tick, thread, node, ticks
        self._standing: dict[int, list[int]] = {}  # the last row of each thread
        self._names: list[str] = [TRAINING]
        self._numbers: dict[int, int] = {threading.get_ident(): 0}
        self._rarer_at = _MOST_LOOKS // 2
        self._late_ns = self._latest_ns = self._own_ns = 0
        self._ending = threading.Lock()
        self._ending.acquire()
        self.start_ns = clock.now_ns()
        self._thread = threading.Thread(target=self._run, name=f"{_OURS}python", daemon=True)

    def start(self) -> None:
        """Begins; the calling thread is the one that trains."""
        self._switch_seconds = sys.getswitchinterval()
        if self._switch_seconds > _SWITCH_SECONDS:
            sys.setswitchinterval(_SWITCH_SECONDS)
        self._thread.start()

    @property
    def looks(self) -> int:
        """How many there were so far."""
        return len(self._times_ns)

    def end(self) -> None:
        """Looks no more; what was seen is there when its thread has ended."""
        self._ending.release()
        if sys.getswitchinterval() == _SWITCH_SECONDS:  # else the script has set it meanwhile
            sys.setswitchinterval(self._switch_seconds)

    def profile(self) -> PythonProfile:
        """Everything that was seen; not in the training thread, which need not wait for it."""
        if self._thread.ident is not None:
            self._thread.join()
        rows = [row for row in self._rows if row[2] >= 0]
        return PythonProfile(
            profiler=PythonProfiler.STACKS,
            timer=PythonTimer.TOTAL,
            start_ns=self.start_ns,
            end_ns=self._times_ns[-1] if self._times_ns else self.start_ns,
            functions=tuple(self._tree.functions),
            parents=tuple(self._tree.parents),
            node_functions=tuple(self._tree.node_functions),
            node_lines=tuple(self._tree.lines),
            threads=tuple(self._names),
            times_ns=tuple(self._times_ns),
            row_times=tuple(row[0] for row in rows),
            row_threads=tuple(row[1] for row in rows),
            row_nodes=tuple(row[2] for row in rows),
            row_counts=tuple(row[3] for row in rows),
            interval_ns=self._meant_ns,
            late_ns=self._late_ns,
            latest_ns=self._latest_ns,
            own_ns=self._own_ns,
            is_cut=self._tree.is_cut,
        )

    def _run(self) -> None:
        self._guard.call("stacks of Python", self._sample, None)

    def _sample(self) -> None:
        now_ns, wait = self._clock.now_ns, self._ending.acquire
        before_ns = due_ns = self.start_ns
        while True:
            due_ns += self.interval_ns
            pause_ns = due_ns - now_ns()
            if pause_ns <= 0:  # what was missed is not made up for
                pause_ns, due_ns = self.interval_ns, due_ns + self.interval_ns - pause_ns
            if wait(timeout=pause_ns / NANOSECONDS):
                return
            at_ns = now_ns()
            self._late_ns += max(0, at_ns - due_ns)
            self._latest_ns = max(self._latest_ns, at_ns - due_ns)
            self.look(at_ns, at_ns - before_ns)
            before_ns = at_ns

    def look(self, at_ns: int, weight_ns: int) -> None:
        """One look at all threads."""
        tick = len(self._times_ns)
        self._times_ns.append(at_ns)
        for ident, frame in _current_frames().items():
            number = self._numbers.get(ident)
            if number is None:
                number = self._meet(ident)
            if number < 0:
                continue
            node = self._tree.stack(frame)
            last = self._standing.get(number)
            if last is not None and last[2] == node and last[0] + last[3] == tick:
                last[3] += 1
            else:
                self._standing[number] = row = [tick, number, node, 1]
                self._rows.append(row)
            if node == OURS and number == 0:
                self._own_ns += weight_ns
        if max(tick, len(self._rows)) >= self._rarer_at:
            self.interval_ns *= 2
            self._rarer_at += max(1, (_MOST_LOOKS - self._rarer_at) // 2)

    def _meet(self, ident: int) -> int:
        """A thread that was not there before; our own have a number below zero."""
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        name = names.get(ident, "")
        if name.startswith(_OURS):
            self._numbers[ident] = -1
            return -1
        self._numbers[ident] = len(self._names)
        self._names.append(name or f"thread {len(self._names)} without a name")
        return self._numbers[ident]
