"""The account of a session: how long training took so far, and how much of it hooks took."""

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, TypeVar

from sonde.clock import NANOSECONDS, Clock, thread_cpu_ns
from sonde.collect.budget import Budget
from sonde.collect.windows import Windows

Result = TypeVar("Result")


class Resting(Enum):
    """What a hook does that is called while the hooks rest."""

    WAKES = auto()  # all hooks return first
    FLUSHES = auto()  # what was kept is recorded first, and the others go on resting
    SKIPS = auto()  # nothing


class Account:
    """Counts everything that runs inside the training process."""

    budget: Budget
    windows: Windows
    hook_ns: int  # of the training thread, since the account was last brought up to date
    _accounted_ns: int  # until when training time was counted
    _least_ns: dict[str, int]
    is_resting: bool
    clock: Clock
    _add_scalar: Callable[[tuple[Any, ...]], None]

    @property
    def training_seconds(self) -> float:
        """How long training took so far."""
        seconds = self.budget.training_seconds
        if self.is_resting and self._accounted_ns:
            seconds += max(0, self.clock.now_ns() - self._accounted_ns) / NANOSECONDS
        return seconds

    def account(self, start_ns: int, end_ns: int) -> None:
        """Count the time until then, and what hooks took of it.

        Args:
            start_ns: Where the time begins that was not counted, if nothing was counted before.
            end_ns: Until when.
        """
        hook_ns, self.hook_ns = self.hook_ns, 0
        begin_ns = self._accounted_ns or start_ns
        self._accounted_ns = max(begin_ns, end_ns)
        if not self.windows.is_open:  # what a profiler slows says nothing about the hook
            seconds = (self._accounted_ns - begin_ns) / NANOSECONDS
            self.budget.step_over(seconds, hook_ns / NANOSECONDS)

    def account_counted(self, start_ns: int, end_ns: int, hook_ns: int) -> None:
        """The same for steps that were only counted, which took so much in all."""
        begin_ns = self._accounted_ns or start_ns
        self._accounted_ns = max(begin_ns, end_ns)
        if not self.windows.is_open:
            seconds = (self._accounted_ns - begin_ns) / NANOSECONDS
            self.budget.counted(seconds, hook_ns / NANOSECONDS)

    def queue(self, kind: str, function: Callable[..., Result], *arguments: object) -> Result:
        """Calls what fills a device's queue.

        Where the queue is full it waits for the training's own work, which costs the training
        nothing: what is counted is the least that such a call has ever taken.
        """
        began_ns = thread_cpu_ns()
        result = function(*arguments)
        took_ns = thread_cpu_ns() - began_ns
        least_ns = min(took_ns, self._least_ns.get(kind, took_ns))
        self._least_ns[kind] = least_ns
        self.hook_ns -= took_ns - least_ns
        return result

    def scalar_at(self, name: str, value: float, time_ns: int, at: tuple[str, int]) -> None:
        """One number of a step that was only counted."""
        mode, number = at
        self._add_scalar((name, time_ns, number, mode, value, "hook"))
