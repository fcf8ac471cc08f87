"""NonFiniteInput: a batch contains NaN or infinity."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.records.observations.parameters import NonFiniteSource, TensorRole
from sonde.rules._rule import Rule, Section, State

_KIND = ObservationKind.FIRST_NON_FINITE.value
_INPUT = "input"
_LABELS = {"nan": "NaN", "inf": "infinite values"}


class NonFiniteInput(Rule):
    """A batch contains NaN or infinity, which reaches the loss.

    Why it matters: One such value makes the loss and all gradients NaN, and after the next update
    the whole model.
    How it decides:
    - A loss or gradient is not finite, and the first non-finite value in the order of computation
      is an input of the model.
    - Not applied while the loss is finite, for example if the model masks NaN inputs.
    What to do: Find the sample in that batch. Look for missing values, divisions by zero and
    logarithms of zero in its preparation, and drop or fill them. The model is lost from that step
    on: resume from an earlier checkpoint.
    """

    section = Section.DATA
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
        """Report non-finite values that the hook traced to an input."""
        del state
        window.count_inspected_steps()
        for observation in window.observations(_KIND):
            source = NonFiniteSource.of(observation)
            if source.role is TensorRole.INPUT and observation.subject.startswith(_INPUT):
                yield self._finding(observation, source, window)

    def _finding(
        self, observation: Observation, source: NonFiniteSource, window: Window
    ) -> Finding:
        step = int(observation.value)
        word = _LABELS.get(source.content, "non-finite values")
        hashes = [
            item.value
            for item in window.observations(ObservationKind.BATCH_HASH.value)
            if (item.worker, item.step, item.mode) == (observation.worker, step, observation.mode)
        ]
        batch = f" (batch hash {int(hashes[0]):08x})" if hashes else ""
        return self.finding(
            f"{observation.subject} contains {word} in the batch of step {step} on worker "
            f"{observation.worker}{batch}.",
            severity=Severity.CRITICAL,
            step=step,
            tensor=observation.subject,
            worker=observation.worker,
            subject=observation.subject,
            evidence={
                "found": source.content,
                "batch_hash": hashes[0] if hashes else None,
            },
        )
