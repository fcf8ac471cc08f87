"""The overhead account of a session: training time so far, and how much of it hooks took."""

from collections.abc import Callable
from enum import Enum, auto
from typing import TypeVar

from sonde.clock import NANOSECONDS, Clock, thread_cpu_ns
from sonde.hook.budget import Budget
from sonde.hook.hook_state import HookState
from sonde.hook.profile_windows import Windows

Result = TypeVar("Result")


class Resting(Enum):
    """What a hook does if it is called while hooks rest."""

    WAKES = auto()  # reactivates all hooks first
    FLUSHES = auto()  # records the counted steps first; the other hooks keep resting
    SKIPS = auto()  # nothing


class Overhead:
    """Counts everything that Sonde runs inside the training process."""

    __slots__ = (
        "_accounted_ns",
        "_clock",
        "_is_hidden",
        "_one_off_ns",
        "_shortest_ns",
        "_state",
        "_windows",
        "budget",
        "hook_ns",
        "was_hidden",
    )

    def __init__(self, clock: Clock, state: HookState, windows: Windows) -> None:
        self._clock = clock
        self._state = state
        self._windows = windows
        self.reset(0.0)

    def reset(self, percent: float) -> None:
        """Start over with a budget of `percent` of the training time."""
        self.budget = Budget(percent)
        self.hook_ns = 0  # of the training thread, since the last `account`
        self._accounted_ns = 0  # end of the training time counted so far
        self._shortest_ns: dict[str, int] = {}
        self._is_hidden = self.was_hidden = False  # now, and in the latest step
        self._one_off_ns = 0

    @property
    def training_seconds(self) -> float:
        """Training time so far."""
        seconds = self.budget.training_seconds
        if self._state.is_resting and self._accounted_ns:
            seconds += max(0, self._clock.now_ns() - self._accounted_ns) / NANOSECONDS
        return seconds

    def charge(self, hook_ns: int) -> None:
        """Add time that no hook has measured."""
        self.hook_ns += hook_ns

    def refund(self, hook_ns: int) -> None:
        """Subtract time that a hook has measured but that is counted elsewhere."""
        self.hook_ns -= hook_ns

    def set_hidden(self, is_hidden: bool) -> None:
        """Set whether a device still has queued work of the current step.

        Training then waits for the device, and hooks in the training thread do not delay it.
        """
        self._is_hidden = is_hidden

    @property
    def is_hidden(self) -> bool:
        """Whether hooks do not delay the current step, because training waits for a device."""
        return self._is_hidden

    def charge_once(self, hook_ns: int) -> None:
        """Mark measured hook time as a cost that does not recur, such as allocating memory.

        It is reported, but does not postpone measurements.
        """
        self._one_off_ns += hook_ns

    def interrupt(self) -> None:
        """Stop counting training time until the next step."""
        self._accounted_ns = 0

    def account(self, start_ns: int, end_ns: int) -> None:
        """Count training time up to `end_ns`, and the part of it that hooks took.

        Args:
            start_ns: Start of the uncounted time, if nothing was counted before.
            end_ns: End of the time to count.
        """
        hook_ns, self.hook_ns = self.hook_ns, 0
        one_off_ns, self._one_off_ns = self._one_off_ns, 0
        self.was_hidden, self._is_hidden = self._is_hidden, False
        if self.was_hidden:
            hook_ns = 0
        begin_ns = self._accounted_ns or start_ns
        self._accounted_ns = max(begin_ns, end_ns)
        if not self._windows.is_open:  # a profiler would inflate the cost of hooks
            seconds = (self._accounted_ns - begin_ns) / NANOSECONDS
            one_off_seconds = min(hook_ns, one_off_ns) / NANOSECONDS
            self.budget.add_step(seconds, hook_ns / NANOSECONDS, one_off_seconds)

    def account_counted(self, start_ns: int, end_ns: int, hook_ns: int) -> None:
        """Count the time of steps that were not recorded; hooks took `hook_ns` of it in total."""
        begin_ns = self._accounted_ns or start_ns
        self._accounted_ns = max(begin_ns, end_ns)
        if not self._windows.is_open:
            seconds = (self._accounted_ns - begin_ns) / NANOSECONDS
            self.budget.add_counted_steps(seconds, hook_ns / NANOSECONDS)

    def queue(self, kind: str, function: Callable[..., Result], *arguments: object) -> Result:
        """Call a function that adds work to a device queue.

        If the queue is full, the call waits for training work, which does not delay training. So
        only the shortest time of any call of this kind is counted.
        """
        began_ns = thread_cpu_ns()
        result = function(*arguments)
        took_ns = thread_cpu_ns() - began_ns
        shortest_ns = min(took_ns, self._shortest_ns.get(kind, took_ns))
        self._shortest_ns[kind] = shortest_ns
        self.hook_ns -= took_ns - shortest_ns
        return result
