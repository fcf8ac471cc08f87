"""Confusion: a boosted model confuses classes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Annotated, ClassVar

from sonde.formats import format_percent
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.observations.boosting import PredictionQuality
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Between, Count, Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.boosted_models import QUALITY, InspectedData, inspected_data

_LABELS, _PREDICTIONS = "labels", "predictions"  # collections, and prefixes of tensor names

Share = Annotated[float, Between(0, 1)]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of Confusion.

    Chosen by hand on programs that train boosted trees (tests/rules/trees) unless a comment says
    otherwise.
    """

    min_rows: int = 20  # of a class
    sigmas: float = 2.0  # standard errors of a share
    mostly_wrong_share: float = 0.5  # of a class; the finding is a warning


LIMITS = Calibration()


@dataclass(frozen=True, slots=True)
class _Confused:
    """A class that is predicted as another."""

    label: str
    prediction: str
    correct: float  # share of its rows
    wrong: float  # share predicted as the other class
    rows: int


class Confusion(Rule):
    """A boosted model predicts rows of one class as another class.

    Why it matters: The overall accuracy can hide a class that the model never gets right.
    How it decides:
    - Less than `min_diag` of the rows of a class are predicted correctly, or more than
      `max_off_diag` of them as one other class, allowing for 2 standard errors.
    - Judged after the last round, on data that is not trained on if there is any, for classes with
      at least 20 rows.
    - It is `info` if half of the rows of the class are predicted correctly.
    - `category_no` limits the check to the first classes; `labels`, `predictions` and their
      collections select data sets.
    - Classic: both limits without allowance, at every inspection.
    What to do: Look at rows that the model confuses: the labels may be wrong, or a feature that
    separates the two classes may be missing. Weight the class, or collect more rows of it.
    """

    category_no: Count | None = None
    labels: Regex = ".*labels"
    predictions: Regex = ".*predictions"
    labels_collection: str = _LABELS
    predictions_collection: str = _PREDICTIONS
    min_diag: Share = 0.9
    max_off_diag: Share = 0.1

    section = Section.DATA
    calibration = LIMITS
    needs = (QUALITY,)
    window_steps: ClassVar[int] = 10
    skips_quiet: ClassVar[bool] = True
    sees_end: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Evaluate the confusion matrix of the latest inspection."""
        for item in inspected_data(window):
            if not item.quality.confusion or not self._is_selected(window, item.name):
                state["has_regression"] = not item.quality.confusion
                continue
            state["rows"] = max(state.get("rows", 0), item.quality.compared)
            if self.is_classic:
                yield from self._evaluate(item)
                continue
            key = "trained" if item.quality.is_training_data else "held_out"
            state[key] = [item.name, item.step, item.quality.encode()]
        if window.is_last and not self.is_classic:
            name, step, detail = state.get("held_out") or state.get("trained") or ("", 0, "")
            if name:
                yield from self._evaluate(
                    InspectedData(name, step, PredictionQuality.decode(detail))
                )

    def unfit(self, state: State) -> str:
        """Return a reason for regression."""
        is_unfit = state.get("has_regression") and not state.get("rows")
        return "the model predicts numbers, not classes" if is_unfit else ""

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many labels are missing."""
        rows = int(state.get("rows", 0))
        return Shortfall(rows, LIMITS.min_rows, DataUnit.LABELS) if rows < LIMITS.min_rows else ""

    def _is_selected(self, window: Window, name: str) -> bool:
        """Whether the parameters select the labels and the predictions of a data set."""
        selections = (
            (f"{_LABELS}/{name}", self.labels, self.labels_collection, _LABELS),
            (f"{_PREDICTIONS}/{name}", self.predictions, self.predictions_collection, _PREDICTIONS),
        )
        return all(
            re.search(regex, tensor)
            and (collection in (default, "all") or tensor in window.data.members(collection))
            for tensor, regex, collection, default in selections
        )

    def _evaluate(self, item: InspectedData) -> Iterator[Finding]:
        confused = list(self._confused_classes(item.quality))
        if not confused:
            yield self.recovered(item.name)
            return
        worst = min(confused, key=lambda each: each.correct)
        is_mostly_wrong = worst.correct < LIMITS.mostly_wrong_share
        others = f" Confused classes: {len(confused)}." if len(confused) > 1 else ""
        yield self.finding(
            f"{format_percent(100 * worst.correct)} of {worst.rows:,} rows of class {worst.label} "
            f"in {item.name} are predicted correctly, {format_percent(100 * worst.wrong)} as class "
            f"{worst.prediction}.{others}",
            severity=Severity.WARNING if is_mostly_wrong else Severity.INFO,
            step=item.step,
            subject=item.name,
            evidence={
                "correct_percent": 100 * worst.correct,
                "confused_percent": 100 * worst.wrong,
                "rows": worst.rows,
                "classes": [each.label for each in confused],
            },
        )

    def _confused_classes(self, quality: PredictionQuality) -> Iterator[_Confused]:
        count = self.category_no or len(quality.classes)
        for index, row in list(enumerate(quality.confusion))[:count]:
            rows = sum(row)
            if not rows or (not self.is_classic and rows < LIMITS.min_rows):
                continue
            correct = row[index] / rows
            wrong, other = max((number / rows, at) for at, number in enumerate(row) if at != index)
            is_low = correct + self._allowance(correct, rows) < self.min_diag
            if is_low or wrong - self._allowance(wrong, rows) > self.max_off_diag:
                yield _Confused(
                    quality.classes[index], quality.classes[other], correct, wrong, rows
                )

    def _allowance(self, share: float, rows: int) -> float:
        return 0.0 if self.is_classic else LIMITS.sigmas * sqrt(share * (1 - share) / rows)
