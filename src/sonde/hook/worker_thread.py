"""The hook's own thread: everything that the training thread need not wait for."""

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from sonde.clock import Clock, thread_cpu_seconds
from sonde.guard import Guard

_POLL_SECONDS = 0.1  # while a device still computes what was asked of it
_NICENESS = 5
# A thread that is in the middle of a framework's own code when the interpreter ends takes the whole
# process down with it: what it has begun is waited for, longer than what it has not.
_LAST_WORK_SECONDS = 60.0


class Pending(Protocol):
    """Something that a device computes; it is taken when it is there, never waited for."""

    def is_ready(self) -> bool:
        """Whether it can be taken without waiting."""

    def take(self) -> None:
        """Takes it."""


class WorkerThread:
    """Runs what it is handed, in order, and tidies up at regular times."""

    def __init__(
        self,
        clock: Clock,
        guard: Guard,
        tidy: Callable[[], None],
        tidy_seconds: float,
        on_cost: Callable[[float], None],
    ) -> None:
        self._clock = clock
        self._guard = guard
        self._tidy = tidy
        self._tidy_seconds = tidy_seconds
        self._on_cost = on_cost
        self._work: deque[tuple[str, Callable[[], None]]] = deque()
        self._pending: deque[tuple[str, Pending]] = deque()
        self._asking = threading.Lock()
        self._news = threading.Event()
        self._is_closing = False
        self._look: Callable[[], None] | None = None
        self._look_seconds = 0.0
        self._thread = threading.Thread(target=self._run, name="sonde-hook", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def hand(self, part: str, work: Callable[[], None]) -> None:
        """Work to be done soon."""
        self._work.append((part, work))
        self._news.set()

    def expect(self, part: str, pending: Pending) -> None:
        """Something that will be there after a while."""
        self._pending.append((part, pending))
        if len(self._pending) == 1:
            self._news.set()

    def watch(self, look: Callable[[], None], every_seconds: float) -> None:
        """Looks for something again and again; once that fails, no more."""
        self._look_seconds = every_seconds
        self._look = self._guard.shield("requests", look, None)
        self._news.set()

    def hold(self) -> None:
        """Begins nothing until `release`: to ask a device would spoil a graph's recording."""
        self._asking.acquire()

    def release(self) -> None:
        """Goes on."""
        self._asking.release()

    @property
    def waiting(self) -> int:
        """How much work has not been begun yet."""
        return len(self._work)

    def close(self, timeout_seconds: float) -> int:
        """Does what is left, within a time; returns how much of it had to be given up."""
        self._is_closing = True
        self._news.set()
        self._thread.join(timeout_seconds)
        given_up = 0
        if self._thread.is_alive():
            given_up = len(self._work) + len(self._pending)
            self._work.clear()
            self._pending.clear()
            self._thread.join(_LAST_WORK_SECONDS)
        return given_up

    def _run(self) -> None:
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        tidy_due = self._clock.seconds() + self._tidy_seconds
        look_due = spent = 0.0
        while True:
            self._news.clear()
            self._do_work()
            now = self._clock.seconds()
            is_last = self._is_closing and not self._work and not self._pending
            if now >= tidy_due or is_last:
                tidy_due = now + self._tidy_seconds
                self._guard.attempt("the worker's records", self._tidy, None)
            if self._look is not None and now >= look_due and not is_last:
                look_due = now + self._look_seconds
                self._look()
            cpu = thread_cpu_seconds()
            self._on_cost(cpu - spent)
            spent = cpu
            if is_last:
                return
            due = min(tidy_due, look_due) if self._look is not None else tidy_due
            pause = _POLL_SECONDS if self._pending else max(0.0, due - now)
            self._clock.wait(self._news, pause)

    def _do_work(self) -> None:
        while True:
            try:
                part, work = self._work.popleft()
            except IndexError:
                break
            with self._asking:
                self._guard.call(part, work, None)
        # a device works in order: where the first is not ready, the others are not either
        while self._pending:
            with self._asking:
                part, pending = self._pending[0]
                if not self._guard.call(part, pending.is_ready, True):
                    return
                self._guard.call(part, pending.take, None)
            with suppress(IndexError):  # all was given up meanwhile
                self._pending.popleft()
