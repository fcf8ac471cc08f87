"""ValidationTooGood: an evaluation that cannot be trusted, because it is too good."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, Self

from sonde.read.evaluations import evaluations_in
from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Mode
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import BEGINNINGS, another_began, begin_leg, is_playing
from sonde.rules.tensors._evaluations import hits_of
from sonde.rules.tensors._passes import held_out
from sonde.rules.tensors._training_since import Result, TrainingSince

_EVAL = Mode.EVAL.value
_KIND = "samples-again"
_COMPARED = 20  # samples that tell
_NO_OTHERS_ANY_MORE = 5  # evaluations of nothing but known samples, in a row
_KNOWN_EVALUATIONS = 2  # in a row: one of the training set, at the end, is none of a validation set
_ALL = 0.99
_SOME = 0.1
_HARDLY_ANY = 0.05
_COVERED = 0.9  # of what is trained on was known before: then a sample that is not is a new one
_MIXED = 0.5  # of the pairs that batches would have if known samples were spread evenly
_LEAST_KNOWN = 8
_STEADY = 1.02  # times the share of the last evaluation: more are known by and by, chosen from it
_NATURAL = 3.0  # times as many as are there twice by nature; where all are drawn by chance, it is 2
_EVALUATIONS = 3
_FAR_BETTER = 0.25  # of the errors, and of the loss: dropout and augmentation cost less than that
_SAMPLES = 100
_LEAST_ERROR = 0.1  # of training: where nearly all is right there is nothing to compare


@dataclass(frozen=True, slots=True)
class _Compared:
    """The samples of an evaluation, and how many of them were trained on before."""

    samples: int
    known: int
    repeated: int  # inside of the evaluation
    mixed: float  # pairs of a known sample and another in one batch, of those to be expected
    is_one_batch: bool
    trained: int
    covered: float  # of the samples trained on since the last evaluation, the share known before
    rate: float  # of samples that are there twice, as far as the training before its end tells
    before: float  # the share that was known at the last evaluation

    @classmethod
    def of(cls, one: Observation, own: State) -> Self:
        """As the hook tells it; the first period of training tells how often samples are twice."""
        facts = {name: int(value) for name, value in one.facts.items()}
        again, rows = facts["again"], max(1, facts["rows"])
        first = own.setdefault("first", [2 * _at_most(again) / rows, rows])
        share = facts["known"] / max(1, facts["samples"])
        before, own["share"] = own.get("share", 0.0), share
        expected = 2 * share * (1 - share) * facts["pairs"]
        return cls(
            facts["samples"],
            facts["known"],
            facts["repeated"],
            facts["mixed"] / expected if expected else 0.0,
            2 * facts["pairs"] >= facts["samples"] * (facts["samples"] - 1),
            facts["trained"],
            again / rows,
            first[0] * max(1.0, facts["trained"] / first[1]),
            before,
        )

    @property
    def share(self) -> float:
        return self.known / max(1, self.samples)

    @property
    def is_sure(self) -> bool:
        """Whether more are known than data has that holds the same samples more than once."""
        of_each = max(1.0, self.trained / max(1, self.samples))
        natural = min(_at_most(self.repeated) * of_each, self.rate * self.samples)
        return self.known > _NATURAL * max(natural, _LEAST_KNOWN)

    @property
    def is_even(self) -> bool:
        """Whether known samples are in all batches: not those of two sets, one after the other."""
        return self.share >= _ALL or self.mixed >= _MIXED

    @property
    def is_told(self) -> bool:
        """Whether all samples that can be known are, or a part that is in both."""
        is_all = self.share >= _ALL or self.share >= _ALL * self.covered > _SOME
        is_part = self.covered >= _COVERED and _SOME <= self.share <= _STEADY * self.before
        return self.is_even and (is_all or is_part)


class ValidationTooGood(Rule):
    """Validation is far better than training from the first, or its samples were trained on.

    Why it matters: an evaluation on what was trained on, or with the answer among the inputs, says
    nothing about new data; the wrong model is chosen.
    How it decides: in 2 evaluations in a row of one series, 99% of the samples were trained on
    before; or at least 10% and not more than the time before, once all training data is known. Or,
    in 3 evaluations in a row, errors and loss are below a quarter of those in training since the
    evaluation before. Not applied to duplicates that the data has by nature, to the training set
    evaluated beside another set, and in reinforcement learning. Without a loss it is advice.
    What to do: split by sample (by person, by time) before anything else; check that the loader of
    the validation set has the validation set; look for the target among the inputs.
    """

    needs = (Observations(_KIND), Observations("class-hits"), *BEGINNINGS)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares evaluations with the training before."""
        begin_leg(window, state)
        state["is_scored"] = state.get("is_scored", False) or bool(window.losses(_EVAL))
        yield from self._by_samples(window, state, another_began(window, state))
        training = TrainingSince(state.of("training"))
        for one in held_out(window, state.of("held out")) or ():
            training.add(window, one.step)
            trained, evaluated = training.take(), hits_of(one.hits)
            if evaluated is not None and evaluated.samples >= _SAMPLES and trained is not None:
                yield from self._by_hits((1 - evaluated.accuracy, one.loss), trained, state)
        training.add(window)

    def lacks(self, state: State) -> str | Shortfall:
        """That there has to be an evaluation."""
        is_enough = state.get("evaluations", 0) or state.get("compared", 0)
        return "" if is_enough else Shortfall(0, 1, DataUnit.EVALUATIONS)

    def _by_samples(self, window: Window, state: State, another: int | None) -> Iterator[Finding]:
        for one in _told(window, state):
            own = state.of("workers", f"{one.worker} {one.subject}")
            compared = _Compared.of(one, own)
            if compared.samples < _COMPARED:
                continue
            state["compared"] = state.get("compared", 0) + 1
            is_candidate = compared.is_sure and compared.is_even and compared.share >= _SOME
            own["row"] = own.get("row", 0) + 1 if is_candidate else 0
            if compared.share < _HARDLY_ANY and compared.covered >= _COVERED:
                state["has_others"] = True
            is_known = compared.share >= _ALL and another is None
            if is_known and own["row"] >= _NO_OTHERS_ANY_MORE:
                state["has_others"] = False
            if state.get("has_others") or not is_candidate:
                yield self.recovered("samples")
            elif own["row"] >= _KNOWN_EVALUATIONS and compared.is_told:
                is_all_data = compared.is_one_batch or compared.share >= _ALL
                is_hint = is_all_data and not state["is_scored"]
                yield self._found(compared, one, Severity.INFO if is_hint else Severity.WARNING)

    def _found(self, compared: _Compared, one: Observation, severity: Severity) -> Finding:
        return self.finding(
            f"{compared.known} of {compared.samples} samples of the evaluation were trained on "
            f"before ({100 * compared.share:.0f} %).",
            severity=severity,
            step=one.step,
            subject="samples",
            evidence={
                "known": compared.known,
                "samples": compared.samples,
                "trained": compared.trained,
                "repeated": compared.repeated,
            },
        )

    def _by_hits(self, evaluated: Result, trained: Result, state: State) -> Iterator[Finding]:
        (errors, loss), (trained_errors, trained_loss) = evaluated, trained
        state["evaluations"] = state.get("evaluations", 0) + 1
        if trained_errors < _LEAST_ERROR or loss is None or trained_loss is None:
            return
        is_better = errors < _FAR_BETTER * trained_errors and 0 <= loss < _FAR_BETTER * trained_loss
        state["better"] = state.get("better", 0) + 1 if is_better else 0
        if not is_better:
            yield self.recovered("hits")
        elif state["better"] >= _EVALUATIONS:
            yield self.finding(
                f"{100 * errors:.2g} % of the validation samples are wrong, and "
                f"{100 * trained_errors:.2g} % of those in training, in {state['better']} "
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


def _told(window: Window, state: State) -> Iterator[Observation]:
    """What samples of evaluations told; not of the training set beside another set."""
    told = window.observations(_KIND)
    if not told or is_playing(window):
        return
    # a set of few batches has a result, but its samples are not compared
    named = {*(one.subject for one in told), *(one.name for one in evaluations_in(window))}
    state["series"] = sorted({*state.get("series", []), *named})
    for one in told:
        if not (one.facts.get("is_training_data") and len(state["series"]) > 1):
            yield one


def _at_most(count: int) -> float:
    """How many there may be in the mean where so many were seen."""
    return count + 3 + 2 * sqrt(count)
