"""ClassImbalance: some classes are rare or almost always predicted wrong."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median
from typing import ClassVar

from sonde.formats import format_percent
from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observations.batches import ClassHits, LabelCounts
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Mode
from sonde.rules._parameters import Count, Positive, Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.streaks import Streaks
from sonde.rules.measures.training_kind import RESTARTS, latest_restart

_LABELS, _HITS = "label-histogram", "class-hits"
_BATCH, _TOKENS = "label-batch", "input-tokens"
_TRAIN, _EVAL = Mode.TRAIN.value, Mode.EVAL.value
_MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ClassImbalance.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    sigmas: float = 2.0  # standard errors of a count or share
    histograms_in_a_row: int = 3  # data in class order starts with few classes
    histogram_steps: int = 100  # the interval at which the hook counts labels
    max_steps_before: int = 10  # steps of a histogram that may belong to the previous training
    min_predictions: int = 20  # of a class
    min_rare_predictions: int = 10  # latest predictions of a rare class
    blocks_in_a_row: int = 2  # classes are learned one after another
    span_steps: int = 100
    learned_share: float = 0.5  # of all predictions; below it, no class stands out
    min_rise: float = 0.02  # of accuracy between blocks; classes are still being learned
    recent_batches: int = 40
    # share of the largest class of a batch beyond its share of all data
    ordered_excess: float = 0.3
    varied_sizes: int = 5  # different numbers of labels per batch; parts of samples are labeled
    labels_per_sample: float = 4.0  # parts of samples are labeled
    labels_per_token: float = 0.25  # tokens are labeled


LIMITS = Calibration()


class ClassImbalance(Rule):
    """A class is much rarer than another, or almost always predicted wrong.

    Why it matters: A model can ignore a rare class and still look good on average.
    How it decides:
    - Imbalance: among at least `samples` labels, the largest class is more than
      `threshold_imbalance` times the smallest, allowing for 2 standard errors, in 3 counts of 100
      steps in a row or at the end of the job.
    - Misprediction: more than `threshold_misprediction` of a class's predictions are wrong,
      allowing for 2 standard errors, over 100 steps, once half of all predictions are right and
      accuracy no longer rises.
    - An imbalance is `info` if more than half of each rare class is predicted correctly.
    - Not applied to labels of parts of a sample (tokens, pixels) or in class order. Misprediction
      is not applied to jobs with several losses. Counting restarts with a new optimizer or loss
      function; `argmax` has no effect.
    - Classic: both limits without allowance, as soon as `samples` labels or predictions are
      counted.
    What to do: Weight the classes in the loss, or sample rare classes more often. Look at recall
    per class, and collect more examples of the rare ones.
    """

    threshold_imbalance: Positive = 10.0
    threshold_misprediction: Positive = 0.7
    samples: Count = 500
    argmax: bool = False
    labels_regex: Regex = ".*labels"
    predictions_regex: Regex = ".*predictions"

    section = Section.DATA
    calibration = LIMITS
    needs = (Observations(_LABELS), Observations(_HITS), *RESTARTS)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Count labels and predictions by class and evaluate both."""
        start = self._training_start(window, state)
        self._add_batches(window, state)
        self._add_hits(window, state)
        latest = None
        for observation in window.observations(_LABELS):
            if re.search(self.labels_regex, observation.subject) and not _includes_earlier_labels(
                observation, start
            ):
                self._count_labels(observation, state, state.get("shares", []))
                state["most"] = max(state.get("most", 0.0), observation.value)
                latest = observation
        if latest is not None or window.is_last:
            step = latest.step if latest is not None else int(state.get("step", 0))
            yield from self._check_labels(step, state, is_last=window.is_last)
        has_several_losses = len(window.losses()) > 1  # e.g. a GAN, whose discriminator should fail
        if not self.is_classic and (has_several_losses or self._labels_are_parts(state)):
            return
        if not (self.is_classic or state.of("labels")):
            state.of("looked")["latest"] = state.of("latest")
            yield from self._check_inspected_labels(window, state.of("looked"))
        yield from self._check_predictions(window, state, start)

    def unfit(self, state: State) -> str:
        """Return a reason if labels belong to parts of samples."""
        if self.is_classic or not self._labels_are_parts(state):
            return ""
        return (
            "labels belong to tokens or other parts of a sample, of which some are naturally rare"
        )

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many labels or predictions are missing."""
        count = max(int(state.get("counted", 0)), int(state.get("predicted", 0)))
        if count >= self.samples:
            return ""
        return Shortfall(count, self.samples, DataUnit.LABELS)

    def _training_start(self, window: Window, state: State) -> int | None:
        """Return the first step of the latest training, and reset the counts if it is new."""
        start = None if self.is_classic else latest_restart(window, state)
        if start != state.get("began"):
            state["began"], state["hits"], state["labels"] = start, {}, {}
            state.of("looked")["labels"] = {}
        return start

    def _count_labels(
        self, observation: Observation, state: State, shares: Sequence[float]
    ) -> None:
        counts = state.of("labels")
        for label, count in LabelCounts.of(observation).counts.items():
            counts[label] = counts.get(label, 0) + int(count)
            state["counted"] = state.get("counted", 0) + int(count)
        state["step"] = observation.step
        is_imbalanced = self._is_imbalanced(counts, shares)
        state["row"] = state.get("row", 0) + 1 if is_imbalanced else 0

    def _check_labels(self, step: int, state: State, *, is_last: bool) -> Iterator[Finding]:
        counts = {label: int(count) for label, count in state.of("labels").items()}
        streak = int(state.get("row", 0))
        is_sure = self.is_classic or streak >= LIMITS.histograms_in_a_row or is_last
        if counts and streak and is_sure and not self.unfit(state):
            is_info = not self.is_classic and self._are_rare_classes_learned(
                counts, state.of("latest")
            )
            yield self._imbalance_finding(
                step, counts, Severity.INFO if is_info else Severity.WARNING
            )
        elif counts and not streak:
            yield self.recovered("labels")

    def _check_inspected_labels(self, window: Window, state: State) -> Iterator[Finding]:
        """Evaluate the labels of inspected batches if the hook does not count all labels."""
        step = int(state.get("step", 0))
        if step >= 2 * LIMITS.histogram_steps or window.is_last:
            yield from self._check_labels(step, state, is_last=window.is_last)

    def _is_imbalanced(self, counts: Mapping[str, int], shares: Sequence[float]) -> bool:
        numbers = [int(count) for count in counts.values() if count]
        if len(numbers) < 2 or sum(numbers) < self.samples:
            return False
        share = median(shares) if shares and not self.is_classic else 0.0
        if share > max(numbers) / sum(numbers) + LIMITS.ordered_excess:
            return False  # labels are in class order: the other classes are still to come
        largest, smallest = float(max(numbers)), float(min(numbers))
        if not self.is_classic:
            largest -= LIMITS.sigmas * sqrt(largest)
            smallest += LIMITS.sigmas * sqrt(smallest)
        return largest > self.threshold_imbalance * smallest

    def _add_batches(self, window: Window, state: State) -> None:
        """Record the number of labels, samples and tokens per batch."""
        for item in window.observations(_BATCH):
            state["batch"] = max(state.get("batch", 0.0), item.value)
            state["sizes"] = [*state.get("sizes", []), item.value][-LIMITS.recent_batches :]
            largest = max(LabelCounts.of(item).counts.values(), default=0)
            share = largest / item.value if item.value else 0.0
            state["shares"] = [*state.get("shares", []), share][-LIMITS.recent_batches :]
            if item.step >= (state.get("began") or 0):
                self._count_labels(item, state.of("looked"), state["shares"])
        for observation in window.observations(_TOKENS):
            state["tokens"] = max(state.get("tokens", 0.0), observation.value)
        if "samples" not in state:
            shapes = [
                tensor.info.shape for tensor in window.tensors("inputs") if tensor.info is not None
            ]
            if shapes:
                state["samples"] = max((shape[0] for shape in shapes if shape), default=0)

    def _add_hits(self, window: Window, state: State) -> None:
        """Add up right and wrong predictions by mode and class; older ones count less and less."""
        for observation in window.observations(_HITS):
            if re.search(self.predictions_regex, observation.subject):
                latest = state.of("latest", observation.mode)
                for label, (right, wrong) in ClassHits.of(observation).counts.items():
                    totals = latest.get(label, [0.0, 0.0])
                    decay = 0.5 if sum(totals) >= LIMITS.min_predictions else 1.0
                    latest[label] = [decay * totals[0] + right, decay * totals[1] + wrong]

    def _are_rare_classes_learned(self, counts: Mapping[str, int], latest: State) -> bool:
        """Whether most of the latest predictions for every rare class are right."""
        hits = latest.of(_EVAL) or latest.of(_TRAIN)
        maximum = max(counts.values())
        rare = [count for count in counts if 0 < self.threshold_imbalance * counts[count] < maximum]
        predictions = [hits.get(label, [0.0, 0.0]) for label in rare]
        return bool(predictions) and all(
            right + wrong >= LIMITS.min_rare_predictions
            and _lower_bound(right, right + wrong) > LIMITS.learned_share
            for right, wrong in predictions
        )

    def _labels_are_parts(self, state: State) -> bool:
        """Whether labels belong to parts of a sample, such as tokens or pixels."""
        labels = float(state.get("batch") or state.get("most", 0.0) / LIMITS.histogram_steps)
        samples, tokens = float(state.get("samples", 0)), float(state.get("tokens", 0.0))
        sizes = state.get("sizes", [])
        if len(set(sizes)) >= max(LIMITS.varied_sizes, len(sizes) / 2):
            return True
        return bool(samples and labels >= LIMITS.labels_per_sample * samples) or bool(
            tokens and labels >= LIMITS.labels_per_token * tokens
        )

    def _check_predictions(
        self, window: Window, state: State, start: int | None
    ) -> Iterator[Finding]:
        """Evaluate the predictions since the start of the latest training."""
        for observation in window.observations(_HITS):
            is_earlier = observation.mode == _TRAIN and observation.step < (start or 0)
            if re.search(self.predictions_regex, observation.subject) and not is_earlier:
                state["predicted"] = state.get("predicted", 0) + round(observation.value)
                step = window.first_step or 0
                yield from self._add_predictions(
                    observation, step, state.of("hits", observation.mode)
                )

    def _add_predictions(
        self, observation: Observation, step: int, state: State
    ) -> Iterator[Finding]:
        """Add predictions to a block, and evaluate the block when it is full."""
        block = state.of("block")
        for label, (right, wrong) in ClassHits.of(observation).counts.items():
            totals = block.get(label, [0, 0])
            block[label] = [totals[0] + int(right), totals[1] + int(wrong)]
        total = sum(right + wrong for right, wrong in block.values())
        if total < self.samples:
            return
        is_rising = self._is_rising(block, total, state)
        shares = {} if is_rising else self._misprediction_shares(block, total)
        streaks = Streaks(state)
        for label in block:
            streaks.note(label, step, holds=label in shares)
        labels = (
            streaks.lasting(1)
            if self.is_classic
            else streaks.lasting(LIMITS.blocks_in_a_row, LIMITS.span_steps)
        )
        lasting = {label: shares[label] for label in labels if label in shares}
        state["block"] = {}
        if lasting:
            yield self._misprediction_finding(observation, lasting)
        else:
            yield self.recovered(f"predictions/{observation.mode}")

    def _is_rising(self, block: Mapping[str, list[int]], total: int, state: State) -> bool:
        """Whether accuracy still rises, so that any class may still be learned."""
        accuracy = sum(right for right, _ in block.values()) / total
        before = state.get("accuracy", accuracy)
        state["accuracy"] = max(before, accuracy)
        error = sqrt(2 * accuracy * (1 - accuracy) / total)
        return not self.is_classic and accuracy - before > max(LIMITS.min_rise, error)

    def _misprediction_shares(self, block: Mapping[str, list[int]], total: int) -> dict[str, float]:
        """Return the share of wrong predictions of each class that is mostly wrong."""
        right = sum(item for item, _ in block.values())
        if not self.is_classic and right < LIMITS.learned_share * total:
            return {}
        result = {}
        for label, (hits, misses) in block.items():
            count = hits + misses
            share = misses / count if count else 0.0
            error = (
                0.0
                if self.is_classic
                else LIMITS.sigmas * sqrt(share * (1 - share) / max(count, 1))
            )
            has_enough = self.is_classic or count >= LIMITS.min_predictions
            if has_enough and share - error > self.threshold_misprediction:
                result[label] = share
        return result

    def _imbalance_finding(
        self, step: int, counts: Mapping[str, int], severity: Severity
    ) -> Finding:
        ordered = sorted(
            (label for label in counts if counts[label]), key=lambda label: counts[label]
        )
        rare, common = ordered[0], ordered[-1]
        return self.finding(
            f"Of {sum(counts.values()):,} labels, {counts[common]:,} are of class {common} and "
            f"{counts[rare]:,} of class {rare}.",
            severity=severity,
            step=(0, step),
            subject="labels",
            evidence={
                "largest": counts[common],
                "smallest": counts[rare],
                "ratio": counts[common] / counts[rare],
                "classes": ordered[:_MAX_LISTED],
                "counts": [counts[item] for item in ordered[:_MAX_LISTED]],
            },
        )

    def _misprediction_finding(
        self, observation: Observation, shares: Mapping[str, float]
    ) -> Finding:
        worst = max(shares, key=lambda label: shares[label])
        suffix = _classes_affected(len(shares) - 1)
        return self.finding(
            f"{format_percent(100 * shares[worst])} of the predictions for class {worst} are wrong "
            f"({observation.mode} steps).{suffix}",
            step=observation.step,
            subject=f"predictions/{observation.mode}",
            evidence={
                "classes": sorted(shares)[:_MAX_LISTED],
                "wrong_percent": 100 * shares[worst],
            },
        )


def _classes_affected(count: int) -> str:
    """Return a sentence about further classes with the same problem; empty if there are none."""
    return (
        f" {count} more {'class has' if count == 1 else 'classes have'} this problem."
        if count
        else ""
    )


def _includes_earlier_labels(histogram: Observation, start: int | None) -> bool:
    """Whether a histogram includes labels from before the latest training."""
    first_step = histogram.step - LIMITS.histogram_steps + 1
    return start is not None and first_step + LIMITS.max_steps_before < start


def _lower_bound(right: float, samples: float) -> float:
    """Return the lower bound of the accuracy for a class."""
    share = right / samples
    return share - LIMITS.sigmas * sqrt(share * (1 - share) / samples)
