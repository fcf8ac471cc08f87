"""NonFiniteInput: the data itself holds what is not a number."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.rules._rule import Rule, State

_KIND = ObservationKind.FIRST_NON_FINITE.value
_INPUT = "input"
_WORDS = {"nan": "NaN", "inf": "infinite values"}


class NonFiniteInput(Rule):
    """A batch holds NaN or infinity, and the loss with it.

    Why it matters: one such value makes the loss and all gradients NaN; after the next update the
    whole model is.
    How it decides: when a loss or a gradient is not finite, the hook looks where that came from, in
    the order of the computation. It fires where it was there already in what the model was given.
    Inputs with NaN that a model masks, with a finite loss, are left alone.
    What to do: find the sample in that batch; look for missing values, divisions by zero and
    logarithms of zero in how it was prepared; drop or fill them. The model is lost from that step
    on: resume from a checkpoint before it.
    """

    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 2
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = (
        "ExplodingTensor",
        "LossDiverging",
        "LossSpike",
        "GradientNormSpike",
        "LossNotDecreasing",
        "LowPrecisionOverflow",
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Takes what the hook has traced to an input."""
        del state
        window.count_watched_steps()
        for one in window.observations(_KIND):
            if one.facts.get("in") == _INPUT and one.subject.startswith(_INPUT):
                yield self._found(one, window)

    def _found(self, one: Observation, window: Window) -> Finding:
        step = int(one.value)
        word = _WORDS.get(str(one.facts.get("found")), "values that are not finite")
        marks = [
            mark.value
            for mark in window.observations(ObservationKind.BATCH_HASH.value)
            if (mark.worker, mark.step, mark.mode) == (one.worker, step, one.mode)
        ]
        batch = f" (mark {int(marks[0]):08x})" if marks else ""
        return self.finding(
            f"{one.subject} holds {word}: the batch of step {step} on worker {one.worker}{batch}.",
            severity=Severity.CRITICAL,
            step=step,
            tensor=one.subject,
            worker=one.worker,
            subject=one.subject,
            evidence={
                "found": str(one.facts.get("found", "")),
                "batch_hash": marks[0] if marks else None,
            },
        )
