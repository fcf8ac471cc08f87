"""The hook's background thread: runs everything that the training thread need not wait for."""

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from sonde.clock import Clock, thread_cpu_seconds
from sonde.guard import Guard

_DEVICE_POLL_SECONDS = 0.1  # while a device still computes a pending result
_NICENESS = 5
# A thread that runs framework code when the interpreter exits crashes the whole process, so work in
# progress gets more time to finish than queued work.
_LAST_WORK_SECONDS = 60.0


class Pending(Protocol):
    """A result that a device is computing."""

    def is_ready(self) -> bool:
        """Whether the result is available without waiting."""

    def take(self) -> None:
        """Process the result."""


class _Flushing:
    """A flush after all pending results."""

    def __init__(self, flush: Callable[[], None]) -> None:
        self._flush = flush
        self.done = threading.Event()

    def is_ready(self) -> bool:
        return True

    def take(self) -> None:
        try:
            self._flush()
        finally:
            self.done.set()


class WorkerThread:
    """Runs submitted work in order, and flushes periodically."""

    def __init__(
        self,
        clock: Clock,
        guard: Guard,
        flush: Callable[[], None],
        flush_seconds: float,
        on_cost: Callable[[float], None],
    ) -> None:
        self._clock = clock
        self._guard = guard
        self._flush = flush
        self._flush_seconds = flush_seconds
        self._on_cost = on_cost
        self._work: deque[tuple[str, Callable[[], None]]] = deque()
        self._pending: deque[tuple[str, Pending]] = deque()
        self._device_lock = threading.Lock()
        self._wake = threading.Event()
        self._is_closing = False
        self._poll: Callable[[], None] | None = None
        self._poll_seconds = 0.0
        self._one_off_seconds = 0.0
        self._thread = threading.Thread(target=self._run, name="sonde-hook", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit_once(self, component: str, work: Callable[[], None]) -> None:
        """Queue work that does not recur, such as compiling, and does not count as overhead."""

        def timed() -> None:
            began = thread_cpu_seconds()
            try:
                work()
            finally:
                self._one_off_seconds += thread_cpu_seconds() - began

        self.submit(component, timed)

    def submit(self, component: str, work: Callable[[], None]) -> None:
        """Queue work."""
        self._work.append((component, work))
        if not self._wake.is_set():
            self._wake.set()

    def expect(self, component: str, pending: Pending) -> None:
        """Queue a result that a device is computing."""
        self._pending.append((component, pending))
        if len(self._pending) == 1:
            self._wake.set()

    def poll(self, function: Callable[[], None], interval_seconds: float) -> None:
        """Call a function periodically until it fails."""
        self._poll_seconds = interval_seconds
        self._poll = self._guard.shield("requests", function, None)
        self._wake.set()

    def hold(self) -> None:
        """Start no work until `release`: accessing a device would break a CUDA graph capture."""
        self._device_lock.acquire()

    def release(self) -> None:
        """Resume after `hold`."""
        self._device_lock.release()

    @property
    def waiting(self) -> int:
        """Number of queued work items."""
        return len(self._work)

    def flush(self, timeout_seconds: float) -> bool:
        """Finish the queued work and flush; return whether that took less than the timeout."""
        flushing = _Flushing(self._flush)
        self.expect("a flush", flushing)
        return self._clock.wait(flushing.done, timeout_seconds)

    def close(self, timeout_seconds: float) -> int:
        """Finish the queued work within the timeout; return the number of dropped items."""
        self._is_closing = True
        self._wake.set()
        self._thread.join(timeout_seconds)
        dropped = 0
        if self._thread.is_alive():
            dropped = len(self._work) + len(self._pending)
            self._work.clear()
            self._pending.clear()
            self._thread.join(_LAST_WORK_SECONDS)
        return dropped

    def _run(self) -> None:
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        flush_due = self._clock.seconds() + self._flush_seconds
        poll_due = spent = 0.0
        while True:
            self._wake.clear()
            self._do_work()
            now = self._clock.seconds()
            is_last = self._is_closing and not self._work and not self._pending
            if now >= flush_due or is_last:
                flush_due = now + self._flush_seconds
                self._guard.attempt("the worker's records", self._flush, None)
            if self._poll is not None and now >= poll_due and not is_last:
                poll_due = now + self._poll_seconds
                self._poll()
            cpu = thread_cpu_seconds()
            one_off, self._one_off_seconds = self._one_off_seconds, 0.0
            self._on_cost(cpu - spent - one_off)
            spent = cpu
            if is_last:
                return
            due = min(flush_due, poll_due) if self._poll is not None else flush_due
            pause = _DEVICE_POLL_SECONDS if self._pending else max(0.0, due - now)
            self._clock.wait(self._wake, pause)

    def _do_work(self) -> None:
        while True:
            try:
                component, work = self._work.popleft()
            except IndexError:
                break
            with self._device_lock:
                self._guard.call(component, work, None)
        # devices finish in order: if the first result is not ready, neither are the others
        while self._pending:
            with self._device_lock:
                component, pending = self._pending[0]
                if not self._guard.call(component, pending.is_ready, True):
                    return
                self._guard.call(component, pending.take, None)
            with suppress(IndexError):  # `close` may have cleared the queue
                self._pending.popleft()
