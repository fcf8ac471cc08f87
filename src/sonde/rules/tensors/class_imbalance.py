"""ClassImbalance: some classes are rare, or never got right."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from statistics import median
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Mode
from sonde.rules._parameters import Count, Positive, Regex
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import BEGINNINGS, another_began
from sonde.rules.tensors._streaks import Streaks

_LABELS, _HITS = "label-histogram", "class-hits"
_BATCH, _TOKENS = "label-batch", "input-tokens"
_TRAIN, _EVAL = Mode.TRAIN.value, Mode.EVAL.value
_SIGMAS = 2.0  # of a count
_HISTOGRAMS = 3  # in a row, or at the end: data in order of its classes begins with a few of them
_STEPS_OF_A_HISTOGRAM = 100
_STEPS_BEFORE = 10  # of a histogram may belong to the training before
_OF_EACH = 20  # samples of a class that tell how often it is right
_A_FEW = 10  # samples of a rare one, the latest, that tell whether it is learned
_BLOCKS = 2  # in a row, and over so many steps: classes are learned one after the other
_SPAN = 100
_LEARNED = 0.5  # of all samples right: before, no class stands out
_RISE = 0.02  # of accuracy from block to block: the classes are still being learned
_KEPT = 40  # batches
_ORDERED = 0.3  # by so much the largest class of a batch has a larger share than that of all data
_SIZES = 5  # of batches, each with another number of labels: those without one are left out
_NAMED = 8


class ClassImbalance(Rule):
    """A class is much rarer than another, or nearly always predicted wrongly.

    Why it matters: a model may ignore a rare class and still look good on average.
    How it decides: classic fires, once `samples` labels were seen, where the largest class is more
    than threshold_imbalance times the smallest, or where the share of wrong predictions of a class
    is above threshold_misprediction. Calibrated allows for chance in both, wants the imbalance in
    three counts of 100 steps in a row (or at the end of the job), and calls it a hint where most of
    each rare class are predicted rightly, in evaluations if there are any: somebody has taken care
    of them. It looks at mispredictions only when half of all predictions are right and no more of
    them become so, over 100 steps with the same optimizer, and leaves labels alone that belong to
    parts of a sample, such as the next token (there are many of them, or another number in each
    batch), or that come in order of their classes. It counts anew when another optimizer begins to
    step, or the loss comes from another operation: a second task has other classes. Labels are
    counted at the loss function, so argmax has no effect; those of two classes in one number, and
    those on a device, at the batches that are looked at.
    What to do: weight the classes in the loss, or sample rare ones more often; look at recall per
    class; get more examples of the rare ones.
    """

    threshold_imbalance: Positive = 10.0
    threshold_misprediction: Positive = 0.7
    samples: Count = 500
    argmax: bool = False
    labels_regex: Regex = ".*labels"
    predictions_regex: Regex = ".*predictions"

    needs = (Observations(_LABELS), Observations(_HITS), *BEGINNINGS)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Adds up labels and hits."""
        began = self._began(window, state)
        self._see_batches(window, state)
        self._see_hits(window, state)
        last = None
        for one in window.observations(_LABELS):
            if re.search(self.labels_regex, one.subject) and not _counts_earlier(one, began):
                self._count_labels(one, state, state.get("shares", []))
                state["most"] = max(state.get("most", 0.0), one.value)
                last = one
        if last is not None or window.is_last:
            step = last.step if last is not None else int(state.get("step", 0))
            yield from self._of_labels(step, state, is_last=window.is_last)
        is_game = len(window.losses()) > 1  # of two networks, in which one is there to be fooled
        if not self.is_classic and (is_game or self._are_parts(state)):
            return
        if not (self.is_classic or state.of("labels")):
            state.of("looked")["latest"] = state.of("latest")
            yield from self._of_looks(window, state.of("looked"))
        yield from self._of_predictions(window, state, began)

    def unfit(self, state: State) -> str:
        """Labels of which some are rare by nature."""
        if self.is_classic or not self._are_parts(state):
            return ""
        return "labels are of tokens or other parts of a sample: some are rare by nature"

    def lacks(self, state: State) -> str | Shortfall:
        """How many labels are missing."""
        seen = max(int(state.get("counted", 0)), int(state.get("predicted", 0)))
        if seen >= self.samples:
            return ""
        return Shortfall(seen, self.samples, DataUnit.LABELS)

    def _began(self, window: Window, state: State) -> int | None:
        """When the latest training began; its labels and hits are counted anew."""
        began = None if self.is_classic else another_began(window, state)
        if began != state.get("began"):
            state["began"], state["hits"], state["labels"] = began, {}, {}
            state.of("looked")["labels"] = {}
        return began

    def _count_labels(self, one: Observation, state: State, shares: Sequence[float]) -> None:
        counts = state.of("labels")
        for label, count in one.facts.items():
            counts[label] = counts.get(label, 0) + int(count)
            state["counted"] = state.get("counted", 0) + int(count)
        state["step"] = one.step
        is_rare = self._is_imbalanced(counts, shares)
        state["row"] = state.get("row", 0) + 1 if is_rare else 0

    def _of_labels(self, step: int, state: State, *, is_last: bool) -> Iterator[Finding]:
        counts = {label: int(count) for label, count in state.of("labels").items()}
        row = int(state.get("row", 0))
        is_sure = self.is_classic or row >= _HISTOGRAMS or is_last
        if counts and row and is_sure and not self.unfit(state):
            is_hint = not self.is_classic and self._are_learned(counts, state.of("latest"))
            yield self._imbalanced(step, counts, Severity.INFO if is_hint else Severity.WARNING)
        elif counts and not row:
            yield self.recovered("labels")

    def _of_looks(self, window: Window, looked: State) -> Iterator[Finding]:
        """Where the hook does not count all labels, batches that were looked at tell the shares."""
        step = int(looked.get("step", 0))
        if step >= 2 * _STEPS_OF_A_HISTOGRAM or window.is_last:
            yield from self._of_labels(step, looked, is_last=window.is_last)

    def _is_imbalanced(self, counts: Mapping[str, int], shares: Sequence[float]) -> bool:
        known = [int(one) for one in counts.values() if one]
        if len(known) < 2 or sum(known) < self.samples:
            return False
        share = median(shares) if shares and not self.is_classic else 0.0
        if share > max(known) / sum(known) + _ORDERED:
            return False  # in order of classes: what was not seen yet is to come
        largest, smallest = float(max(known)), float(min(known))
        if not self.is_classic:
            largest -= _SIGMAS * sqrt(largest)
            smallest += _SIGMAS * sqrt(smallest)
        return largest > self.threshold_imbalance * smallest

    def _see_batches(self, window: Window, state: State) -> None:
        """How many labels a batch has, how many samples, and how many tokens."""
        for one in window.observations(_BATCH):
            state["batch"] = max(state.get("batch", 0.0), one.value)
            state["sizes"] = [*state.get("sizes", []), one.value][-_KEPT:]
            share = max(one.facts.values(), default=0) / one.value if one.value else 0.0
            state["shares"] = [*state.get("shares", []), share][-_KEPT:]
            if one.step >= (state.get("began") or 0):
                self._count_labels(one, state.of("looked"), state["shares"])
        for one in window.observations(_TOKENS):
            state["tokens"] = max(state.get("tokens", 0.0), one.value)
        if "samples" not in state:
            shapes = [one.info.shape for one in window.tensors("inputs") if one.info is not None]
            if shapes:
                state["samples"] = max((shape[0] for shape in shapes if shape), default=0)

    def _see_hits(self, window: Window, state: State) -> None:
        """How many of the latest samples of each class were right, in each mode."""
        for one in window.observations(_HITS):
            if re.search(self.predictions_regex, one.subject):
                latest = state.of("latest", one.mode)
                for label, (right, wrong) in one.facts.items():
                    known = latest.get(label, [0.0, 0.0])
                    kept = 0.5 if sum(known) >= _OF_EACH else 1.0
                    latest[label] = [kept * known[0] + right, kept * known[1] + wrong]

    def _are_learned(self, counts: Mapping[str, int], latest: State) -> bool:
        """Whether most samples of every rare class are predicted rightly by now."""
        hits = latest.of(_EVAL) or latest.of(_TRAIN)
        most = max(counts.values())
        rare = [one for one in counts if 0 < self.threshold_imbalance * counts[one] < most]
        known = [hits.get(label, [0.0, 0.0]) for label in rare]
        return bool(known) and all(
            right + wrong >= _A_FEW and _at_least(right, right + wrong) > _LEARNED
            for right, wrong in known
        )

    def _are_parts(self, state: State) -> bool:
        """Whether labels belong to parts of a sample: the tokens of a text, the pixels of one."""
        labels = float(state.get("batch") or state.get("most", 0.0) / _STEPS_OF_A_HISTOGRAM)
        samples, tokens = float(state.get("samples", 0)), float(state.get("tokens", 0.0))
        sizes = state.get("sizes", [])
        if len(set(sizes)) >= max(_SIZES, len(sizes) / 2):
            return True
        return bool(samples and labels >= 4 * samples) or bool(tokens and labels >= tokens / 4)

    def _of_predictions(self, window: Window, state: State, began: int | None) -> Iterator[Finding]:
        """Judges what was predicted since the latest optimizer began: then classes are learned."""
        for one in window.observations(_HITS):
            is_earlier = one.mode == _TRAIN and one.step < (began or 0)
            if re.search(self.predictions_regex, one.subject) and not is_earlier:
                state["predicted"] = state.get("predicted", 0) + round(one.value)
                step = window.first_step or 0
                yield from self._of_hits(one, step, state.of("hits", one.mode))

    def _of_hits(self, one: Observation, step: int, state: State) -> Iterator[Finding]:
        """Judges blocks of so many predictions."""
        block = state.of("block")
        for label, (right, wrong) in one.facts.items():
            known = block.get(label, [0, 0])
            block[label] = [known[0] + int(right), known[1] + int(wrong)]
        total = sum(right + wrong for right, wrong in block.values())
        if total < self.samples:
            return
        is_rising = self._is_rising(block, total, state)
        shares = {} if is_rising else self._mispredicted(block, total)
        streaks = Streaks(state)
        for label in block:
            streaks.note(label, step, holds=label in shares)
        lasting = streaks.lasting(1) if self.is_classic else streaks.lasting(_BLOCKS, _SPAN)
        bad = {label: shares[label] for label in lasting if label in shares}
        state["block"] = {}
        if bad:
            yield self._mispredicts(one, bad)
        else:
            yield self.recovered(f"predictions/{one.mode}")

    def _is_rising(self, block: Mapping[str, list[int]], total: int, state: State) -> bool:
        """Whether more is right than ever before: then it is not certain which class is left."""
        accuracy = sum(right for right, _ in block.values()) / total
        before = state.get("accuracy", accuracy)
        state["accuracy"] = max(before, accuracy)
        error = sqrt(2 * accuracy * (1 - accuracy) / total)
        return not self.is_classic and accuracy - before > max(_RISE, error)

    def _mispredicted(self, block: Mapping[str, list[int]], total: int) -> dict[str, float]:
        """The classes that are mostly wrong, and how much of each is."""
        right = sum(one for one, _ in block.values())
        if not self.is_classic and right < _LEARNED * total:
            return {}
        found = {}
        for label, (hits, misses) in block.items():
            count = hits + misses
            share = misses / count if count else 0.0
            error = 0.0 if self.is_classic else _SIGMAS * sqrt(share * (1 - share) / max(count, 1))
            is_known = self.is_classic or count >= _OF_EACH
            if is_known and share - error > self.threshold_misprediction:
                found[label] = share
        return found

    def _imbalanced(self, step: int, counts: Mapping[str, int], severity: Severity) -> Finding:
        ordered = sorted((label for label in counts if counts[label]), key=lambda one: counts[one])
        rare, common = ordered[0], ordered[-1]
        return self.finding(
            f"Class {common} was seen {counts[common]} times, class {rare} {counts[rare]} times "
            f"in {sum(counts.values())} labels.",
            severity=severity,
            step=(0, step),
            subject="labels",
            evidence={
                "largest": counts[common],
                "smallest": counts[rare],
                "ratio": counts[common] / counts[rare],
                "classes": ordered[:_NAMED],
                "counts": [counts[one] for one in ordered[:_NAMED]],
            },
        )

    def _mispredicts(self, one: Observation, bad: Mapping[str, float]) -> Finding:
        worst = max(bad, key=lambda label: bad[label])
        others = f" So it is with {len(bad) - 1} more classes." if len(bad) > 1 else ""
        return self.finding(
            f"{100 * bad[worst]:.0f} % of class {worst} are predicted wrongly "
            f"({one.mode} steps).{others}",
            step=one.step,
            subject=f"predictions/{one.mode}",
            evidence={"classes": sorted(bad)[:_NAMED], "wrong_percent": 100 * bad[worst]},
        )


def _counts_earlier(histogram: Observation, began: int | None) -> bool:
    """Whether labels from before the latest training are among those of a histogram."""
    first_step = histogram.step - _STEPS_OF_A_HISTOGRAM + 1
    return began is not None and first_step + _STEPS_BEFORE < began


def _at_least(right: float, samples: float) -> float:
    """The share of a class that is right, allowing for chance."""
    share = right / samples
    return share - _SIGMAS * sqrt(share * (1 - share) / samples)
