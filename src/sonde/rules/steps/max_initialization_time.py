"""MaxInitializationTime: the first training step comes late."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.clock import NANOSECONDS
from sonde.formats import format_duration
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Steps
from sonde.records.step import Mode
from sonde.rules._parameters import Positive
from sonde.rules._profiling_rule import ProfilingRule
from sonde.rules._rule import Section, State

_OTHER_MODES = (Mode.EVAL.value, Mode.PREDICT.value)


class MaxInitializationTime(ProfilingRule):
    """The first training step comes late, or not at all.

    Why it matters: Every start costs machine time in which nothing is learned.
    How it decides:
    - The first training step starts more than `threshold` minutes after the start of the job, or
      after a restart of its workers.
    - Reported before the step has started. Classic: only once it has.
    - Not applied if evaluation or prediction steps come first.
    What to do: Prepare and cache data before the job, load checkpoints in parallel or lazily, and
    compile less. The timeline shows what the start-up time is spent on.
    """

    threshold: Positive = 20.0

    section = Section.SPEED
    needs = (Steps(Mode.TRAIN.value),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 30.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Check the time until the first step of each attempt."""
        subject = f"start {window.attempt.number + 1}"
        tables = window.steps()
        if state.get("attempt") == window.attempt.number:
            return  # it has begun
        if tables:
            state["attempt"] = window.attempt.number
            first_ns = min(int(table.starts_ns.min()) for table in tables)
            if self._minutes(window, first_ns) > self.threshold:
                yield self._finding(window, subject, first_ns, "began")
                yield self.recovered(subject)
        elif not self.is_classic and any(window.steps(mode) for mode in _OTHER_MODES):
            state["attempt"] = window.attempt.number
        elif not (self.is_classic or window.is_last or not window.attempt.lives) and (
            self._minutes(window, window.end_ns) > self.threshold
        ):
            yield self._finding(window, subject, window.end_ns, "had not begun")

    def _minutes(self, window: Window, time_ns: int) -> float:
        return (time_ns - window.attempt.start_ns) / NANOSECONDS / 60

    def _finding(self, window: Window, subject: str, time_ns: int, name: str) -> Finding:
        minutes = self._minutes(window, time_ns)
        return self.finding(
            f"The first training step {name} {format_duration(60 * minutes)} after the start.",
            subject=subject,
            time_ns=(window.attempt.start_ns, time_ns),
            evidence={"initialization_minutes": minutes, "lost_seconds": 60 * minutes},
        )
