"""MaxInitializationTime: the first training step comes late."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.clock import NANOSECONDS
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Steps
from sonde.records.step import Mode
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, State

_OTHERS = (Mode.EVAL.value, Mode.PREDICT.value)


class MaxInitializationTime(Rule):
    """The first training step comes late, or has not come.

    Why it matters: machines are paid for while nothing is learned, at every start again.
    How it decides: the first training step begins more than threshold minutes after the start;
    every restart of the workers is a start. Classic says so when the step is there. Calibrated does
    not wait for it; where steps of another kind come first, an evaluation or predictions, the job
    is at work and not starting.
    What to do: prepare and cache data before the job, load checkpoints in parallel or lazily,
    compile less; the time line shows what the start is spent on.
    """

    threshold: Positive = 20.0

    needs = (Steps(Mode.TRAIN.value),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 30.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Waits for the first step of each leg."""
        subject = f"start {window.leg.number + 1}"
        tables = window.steps()
        if state.get("leg") == window.leg.number:
            return  # it has begun
        if tables:
            state["leg"] = window.leg.number
            first_ns = min(int(one.starts_ns.min()) for one in tables)
            if self._minutes(window, first_ns) > self.threshold:
                yield self._found(window, subject, first_ns, "came")
                yield self.recovered(subject)
        elif not self.is_classic and any(window.steps(mode) for mode in _OTHERS):
            state["leg"] = window.leg.number
        elif not (self.is_classic or window.is_last or not window.leg.lives) and (
            self._minutes(window, window.end_ns) > self.threshold
        ):
            yield self._found(window, subject, window.end_ns, "has not come")

    def _minutes(self, window: Window, time_ns: int) -> float:
        return (time_ns - window.leg.start_ns) / NANOSECONDS / 60

    def _found(self, window: Window, subject: str, time_ns: int, said: str) -> Finding:
        minutes = self._minutes(window, time_ns)
        when = "after" if said == "came" else "within"
        return self.finding(
            f"The first training step {said} {when} {minutes:.0f} minutes.",
            subject=subject,
            time_ns=(window.leg.start_ns, time_ns),
            evidence={"initialization_minutes": minutes, "lost_seconds": 60 * minutes},
        )
