"""Record the rows of a training process: scalars, observations, events and operations."""

from collections.abc import Callable, Iterable
from itertools import repeat
from math import isfinite
from typing import TYPE_CHECKING, Any

from sonde.hook.listeners import Listeners
from sonde.hook.pending_rows import Rows
from sonde.hook.steps import FinishedStep, StepId, Steps
from sonde.store.format import EVENTS, LOGS, OBSERVATIONS, OPERATIONS, SCALARS

if TYPE_CHECKING:
    from sonde.hook.counted_steps import EventRow


class Recorder:
    """Adds rows to the current step, at the current time or at the time of a replayed event."""

    def __init__(self, now_ns: Callable[[], int], listeners: Listeners) -> None:
        self.rows = Rows(EVENTS, SCALARS, OBSERVATIONS, OPERATIONS, LOGS)
        # bound methods for speed: called for every span, and by profilers in any thread
        self.event: Callable[[EventRow], None] = self.rows.adder(EVENTS)
        self.operation = self.rows.adder(OPERATIONS)
        self._add_scalar = self.rows.adder(SCALARS)
        self._add_observation = self.rows.adder(OBSERVATIONS)
        self._clock_ns = now_ns
        self._now_ns = now_ns
        self._non_finite = listeners.non_finite

    def make_steps(self, on_finished: Callable[[FinishedStep], None]) -> Steps:
        """Create the step tracker that assigns rows to steps."""
        self._steps = Steps(self._clock_ns, self.event, on_finished)
        return self._steps

    def set_time_source(self, now_ns: Callable[[], int] | None) -> None:
        """Use this function for timestamps; None restores the clock."""
        self._now_ns = now_ns or self._clock_ns
        self._steps.set_time_source(self._now_ns)

    @property
    def is_live(self) -> bool:
        """Whether events are recorded as they happen, rather than replayed."""
        return self._now_ns == self._clock_ns

    def scalar(
        self,
        name: str,
        value: float,
        source: str = "hook",
        at: StepId | None = None,
        time_ns: int | None = None,
    ) -> None:
        """Record a number for the current step, or for the step `at`; now, or at `time_ns`."""
        mode, number = at or (self._steps.mode, self._steps.number)
        moment_ns = self._now_ns() if time_ns is None else time_ns
        self._add_scalar((name, moment_ns, number, mode, float(value), source))
        if source == "hook" and not isfinite(value):
            for listener in self._non_finite:
                listener(name, value, (mode, number))

    def scalars_at(
        self,
        name: str,
        values: Iterable[float],
        times_ns: Iterable[int],
        numbers: Iterable[int],
        source: str = "hook",
    ) -> None:
        """Record one number for each of several training steps that were only counted."""
        names, mode, sources = map(repeat, (name, "train", source))
        self.rows.of(SCALARS).extend(
            zip(names, times_ns, numbers, mode, values, sources, strict=False)
        )

    def scalar_at(self, name: str, value: float, time_ns: int, at: StepId) -> None:
        """Record a number for a step whose events were not recorded."""
        mode, number = at
        self._add_scalar((name, time_ns, number, mode, value, "hook"))

    def observe(
        self,
        kind: str,
        subject: str,
        value: float = 0.0,
        detail: str = "",
        at: StepId | None = None,
    ) -> None:
        """Record an observation for rules, for the current step or for the step `at`."""
        mode, number = at or (self._steps.mode, self._steps.number)
        row: tuple[Any, ...] = (kind, subject, self._now_ns(), number, mode, value, detail)
        self._add_observation(row)

    def observe_at(
        self, kind: str, subject: str, value: float, detail: str, time_ns: int, at: StepId
    ) -> None:
        """Record an observation for a step whose events were not recorded."""
        mode, number = at
        self._add_observation((kind, subject, time_ns, number, mode, value, detail))
