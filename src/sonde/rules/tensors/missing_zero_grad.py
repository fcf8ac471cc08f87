"""MissingZeroGrad: gradients accumulate because they are never cleared."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations
from sonde.records.observations.parameters import KeptGradients
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.open_faults import begin_attempt, mark_open, resolve

_KIND = "kept-gradients"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of MissingZeroGrad.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    inspections_in_a_row: int = 2  # a script may keep the gradients of one step on purpose


LIMITS = Calibration()


class MissingZeroGrad(Rule):
    """Gradients accumulate over steps although the optimizer steps every time.

    Why it matters: Every update repeats all earlier ones, like momentum that never decays. The loss
    oscillates or explodes.
    How it decides:
    - When the first backward pass after an optimizer step begins, that optimizer's gradients have
      not been cleared, at 2 inspections in a row.
    - Accumulation over several backward passes does not count: the gradients are cleared before the
      first of them.
    - Gradients that are set by the script, not by a backward pass, do not count.
    What to do: Call `optimizer.zero_grad()` once for each `optimizer.step()`, before the backward
    pass.
    """

    section = Section.TRAINING
    calibration = LIMITS
    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 2
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = (
        "LossDiverging",
        "GradientNormSpike",
        "LossSpike",
        "ExplodingTensor",
        "ParameterOutlier",
        "WeightUpdateRatio",
        "LossNotDecreasing",
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Count consecutive inspections with stale gradients, by optimizer and worker."""
        yield from begin_attempt(self, window, state)
        latest: dict[str, Observation] = {}
        for observation in window.observations(_KIND):
            optimizer_state = state.of("optimizers", observation.subject, observation.worker)
            optimizer_state["looks"] = optimizer_state.get("looks", 0) + 1
            if observation.value > 0:
                optimizer_state.setdefault("since", observation.step)
                optimizer_state["row"] = optimizer_state.get("row", 0) + 1
            else:
                optimizer_state["row"] = 0
                optimizer_state.pop("since", None)
                yield from resolve(self, state, observation.subject)
            if optimizer_state["row"] >= LIMITS.inspections_in_a_row:
                latest.setdefault(observation.subject, observation)
        for subject, observation in latest.items():
            mark_open(state, subject)
            optimizer_state = state.of("optimizers", subject, observation.worker)
            yield self._finding(observation, optimizer_state)

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many inspections are missing."""
        count = max((int(worker["looks"]) for worker in _worker_states(state)), default=0)
        return (
            ""
            if count >= LIMITS.inspections_in_a_row
            else Shortfall(count, LIMITS.inspections_in_a_row, DataUnit.INSPECTIONS)
        )

    def _finding(self, observation: Observation, state: State) -> Finding:
        kept = KeptGradients.of(observation)
        total, first = observation.value if kept.sampled is None else kept.sampled, kept.first
        return self.finding(
            f"Since step {state['since']}, gradients are not cleared between steps of optimizer "
            f"{observation.subject}: {observation.value:.0f} of {total} parameters still have "
            f"theirs, including {first}.",
            step=(int(state["since"]), observation.step),
            subject=observation.subject,
            tensor=first or None,
            worker=observation.worker,
            evidence={"parameters": observation.value, "of": total, "looks": state["looks"]},
        )


def _worker_states(state: State) -> Iterator[State]:
    for workers in state.of("optimizers").values():
        yield from workers.values()
