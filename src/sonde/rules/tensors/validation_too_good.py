"""ValidationTooGood: validation is suspiciously good or uses training samples."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, Self

from sonde.formats import format_percent
from sonde.read.evaluations import evaluations_in
from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observations.batches import EvaluatedSamples
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Mode
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.accuracy import hits_of
from sonde.rules.measures.held_out_evaluations import held_out_series
from sonde.rules.measures.training_kind import (
    RESTARTS,
    begin_attempt,
    is_reinforcement_learning,
    latest_restart,
)
from sonde.rules.measures.training_results import Result, TrainingSince

_EVAL = Mode.EVAL.value
_KIND = "samples-again"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ValidationTooGood.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_compared: int = 20  # samples
    only_known_evaluations: int = 5  # in a row with known samples only
    evaluations_in_a_row: int = 2  # a single one at the end may evaluate the training set
    all_share: float = 0.99  # of the samples; from here on, all count as known
    some_share: float = 0.1  # of the samples; the smallest share that is reported
    few_share: float = 0.05  # of the samples; below it, the set is held out
    # of the training samples that were known before; then an unknown sample is new
    covered_share: float = 0.9
    # of the pairs expected if known samples are spread evenly over batches
    mixed_share: float = 0.5
    min_known: int = 8
    steady_factor: float = 1.02  # of the share at the previous evaluation
    duplicate_factor: float = 3.0  # times natural duplicates; random sampling gives 2
    better_evaluations: int = 3  # in a row
    better_share: float = 0.25  # of errors and loss; more than dropout and augmentation explain
    min_samples: int = 100  # per evaluation
    min_error: float = 0.1  # in training; below it, there is nothing to compare


LIMITS = Calibration()


@dataclass(frozen=True, slots=True)
class _Overlap:
    """The samples of an evaluation and how many of them were trained on before."""

    samples: int
    known_samples: int
    repeated: int  # within the evaluation
    mixed: float  # pairs of a known and a new sample in one batch, relative to random batches
    is_one_batch: bool
    trained: int
    covered: float  # share of the samples trained on since the last evaluation, known before
    duplicate_rate: float  # estimated share of samples that occur more than once in the data
    previous_share: float  # known at the last evaluation

    @classmethod
    def of(cls, evaluated: EvaluatedSamples, state: State) -> Self:
        """Create it from an observation; estimate natural duplicates from the first one."""
        repeated, rows = evaluated.trained_again, max(1, evaluated.trained_rows)
        first = state.setdefault("first", [2 * _upper_bound(repeated) / rows, rows])
        share = evaluated.known_share
        previous_share, state["share"] = state.get("share", 0.0), share
        expected = 2 * share * (1 - share) * evaluated.pairs
        return cls(
            evaluated.samples,
            evaluated.known,
            evaluated.repeated,
            evaluated.mixed / expected if expected else 0.0,
            2 * evaluated.pairs >= evaluated.samples * (evaluated.samples - 1),
            evaluated.trained,
            repeated / rows,
            first[0] * max(1.0, evaluated.trained / first[1]),
            previous_share,
        )

    @property
    def share(self) -> float:
        return self.known_samples / max(1, self.samples)

    @property
    def is_significant(self) -> bool:
        """Whether more samples are known than natural duplicates in the data explain."""
        size_ratio = max(1.0, self.trained / max(1, self.samples))
        natural = min(_upper_bound(self.repeated) * size_ratio, self.duplicate_rate * self.samples)
        return self.known_samples > LIMITS.duplicate_factor * max(natural, LIMITS.min_known)

    @property
    def is_even(self) -> bool:
        """Whether known samples are spread over all batches, so that they belong to one set."""
        return self.share >= LIMITS.all_share or self.mixed >= LIMITS.mixed_share

    @property
    def is_leak(self) -> bool:
        """Whether all samples that can be known are known, or a stable part is in both sets."""
        is_all = (
            self.share >= LIMITS.all_share
            or self.share >= LIMITS.all_share * self.covered > LIMITS.some_share
        )
        is_part = (
            self.covered >= LIMITS.covered_share
            and LIMITS.some_share <= self.share <= LIMITS.steady_factor * self.previous_share
        )
        return self.is_even and (is_all or is_part)


class ValidationTooGood(Rule):
    """Validation is far better than training, or its samples were trained on.

    Why it matters: An evaluation on training samples, or with the answer among the inputs, says
    nothing about new data, and the wrong model is chosen.
    How it decides:
    - Samples: in 2 evaluations in a row, 99% of the samples were trained on before; or at least
      10%, and no more than in the previous evaluation, once all training data has been seen.
    - Results: in 3 evaluations in a row, errors and loss are below a quarter of those in training
      since the previous evaluation.
    - `info` if all samples were trained on and the evaluation computes no loss.
    - Not applied to natural duplicates in the data, the training set evaluated next to another set,
      and reinforcement learning.
    What to do: Split by sample (by person, by time) before anything else. Check that the validation
    loader uses the validation set, and look for the target among the inputs.
    """

    section = Section.DATA
    calibration = LIMITS
    needs = (Observations(_KIND), Observations("class-hits"), *RESTARTS)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare evaluations with the training before them."""
        begin_attempt(window, state)
        state["is_scored"] = state.get("is_scored", False) or bool(window.losses(_EVAL))
        yield from self._check_samples(window, state, latest_restart(window, state))
        training = TrainingSince(state.of("training"))
        for evaluation in held_out_series(window, state.of("held out")) or ():
            training.add(window, evaluation.step)
            trained, validated = training.take(), hits_of(evaluation.hits)
            if (
                validated is not None
                and validated.samples >= LIMITS.min_samples
                and trained is not None
            ):
                result = (1 - validated.accuracy, evaluation.loss)
                yield from self._check_results(result, trained, state)
        training.add(window)

    def lacks(self, state: State) -> str | Shortfall:
        """Return a shortfall until there has been an evaluation."""
        is_enough = state.get("evaluations", 0) or state.get("compared", 0)
        return "" if is_enough else Shortfall(0, 1, DataUnit.EVALUATIONS)

    def _check_samples(
        self, window: Window, state: State, restart_step: int | None
    ) -> Iterator[Finding]:
        for observation, evaluated in _observations(window, state):
            worker_state = state.of("workers", f"{observation.worker} {observation.subject}")
            overlap = _Overlap.of(evaluated, worker_state)
            if overlap.samples < LIMITS.min_compared:
                continue
            state["compared"] = state.get("compared", 0) + 1
            is_candidate = (
                overlap.is_significant and overlap.is_even and overlap.share >= LIMITS.some_share
            )
            worker_state["row"] = worker_state.get("row", 0) + 1 if is_candidate else 0
            if overlap.share < LIMITS.few_share and overlap.covered >= LIMITS.covered_share:
                state["has_others"] = True
            is_known = overlap.share >= LIMITS.all_share and restart_step is None
            if is_known and worker_state["row"] >= LIMITS.only_known_evaluations:
                state["has_others"] = False
            if state.get("has_others") or not is_candidate:
                yield self.recovered("samples")
            elif worker_state["row"] >= LIMITS.evaluations_in_a_row and overlap.is_leak:
                is_all_data = overlap.is_one_batch or overlap.share >= LIMITS.all_share
                is_info = is_all_data and not state["is_scored"]
                yield self._finding(
                    overlap, observation, Severity.INFO if is_info else Severity.WARNING
                )

    def _finding(self, overlap: _Overlap, observation: Observation, severity: Severity) -> Finding:
        return self.finding(
            f"{overlap.known_samples} of {overlap.samples} evaluation samples "
            f"({format_percent(100 * overlap.share)}) were trained on before.",
            severity=severity,
            step=observation.step,
            subject="samples",
            evidence={
                "known": overlap.known_samples,
                "samples": overlap.samples,
                "trained": overlap.trained,
                "repeated": overlap.repeated,
            },
        )

    def _check_results(self, validated: Result, trained: Result, state: State) -> Iterator[Finding]:
        (errors, loss), (trained_errors, trained_loss) = validated, trained
        state["evaluations"] = state.get("evaluations", 0) + 1
        if trained_errors < LIMITS.min_error or loss is None or trained_loss is None:
            return
        is_better = (
            errors < LIMITS.better_share * trained_errors
            and 0 <= loss < LIMITS.better_share * trained_loss
        )
        state["better"] = state.get("better", 0) + 1 if is_better else 0
        if not is_better:
            yield self.recovered("hits")
        elif state["better"] >= LIMITS.better_evaluations:
            yield self.finding(
                f"The error rate is {format_percent(100 * errors)} in validation and "
                f"{format_percent(100 * trained_errors)} in training, in {state['better']} "
                "evaluations in a row.",
                subject="hits",
                evidence={
                    "validation_errors": errors,
                    "training_errors": trained_errors,
                    "validation_loss": loss,
                    "training_loss": trained_loss,
                    "evaluations": state["better"],
                },
            )


def _observations(window: Window, state: State) -> Iterator[tuple[Observation, EvaluatedSamples]]:
    """Yield observed evaluations, except of a training set evaluated next to another set."""
    observations = window.observations(_KIND)
    if not observations or is_reinforcement_learning(window):
        return
    # a set with few batches has a result, but its samples are not compared
    names = {
        *(observation.subject for observation in observations),
        *(item.name for item in evaluations_in(window)),
    }
    state["series"] = sorted({*state.get("series", []), *names})
    for observation in observations:
        evaluated = EvaluatedSamples.of(observation)
        is_skipped = evaluated.is_training_data and len(state["series"]) > 1
        if evaluated.trained and not is_skipped:  # no training samples: damaged
            yield observation, evaluated


def _upper_bound(count: int) -> float:
    """Return the upper bound of the expected count, given an observed count."""
    return count + 3 + 2 * sqrt(count)
