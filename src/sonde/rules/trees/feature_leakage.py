"""FeatureLeakage: one feature contains the label."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.formats import format_percent
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.observations.boosting import Task
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.boosted_models import (
    IMPORTANCE,
    QUALITY,
    inspected_data,
    inspected_features,
    score,
)

_GAIN = "feature_importance/total_gain"
_SCORES = {
    Task.BINARY: "AUC",
    Task.MULTICLASS: "balanced accuracy",
    Task.REGRESSION: "R²",
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of FeatureLeakage.

    Chosen by hand on programs that train boosted trees (tests/rules/trees) unless a comment says
    otherwise.
    """

    min_share: float = 0.9  # of the total gain
    min_features: int = 4
    min_score: float = 0.99  # of the predictions; 1 is perfect
    inspections_in_a_row: int = 3
    max_score_age_steps: int = 100  # between the inspections of predictions and importance


LIMITS = Calibration()


class FeatureLeakage(Rule):
    """One feature predicts the label almost perfectly: it probably contains the label.

    Why it matters: A feature that is derived from the label, or is known only after it, is missing
    when real predictions are made.
    How it decides:
    - One feature holds at least 90% of the total gain.
    - At the same time, predictions are nearly perfect: AUC, balanced accuracy or R² of at least
      0.99, on data that is not trained on if there is any.
    - Both hold at 3 inspections in a row.
    - Not applied to data with fewer than 4 features.
    What to do: Find out where the feature comes from, and whether it is known when predictions are
    made. Train without it.
    """

    section = Section.DATA
    calibration = LIMITS
    needs = (IMPORTANCE, QUALITY)
    window_steps: ClassVar[int] = 10
    skips_quiet: ClassVar[bool] = True
    sees_end: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains = ("FeatureImportanceOverweight", "ValidationTooGood")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare gains with the quality of the predictions of the same round."""
        for item in inspected_data(window):
            value = score(item.quality)
            key = "trained" if item.quality.is_training_data else "held_out"
            if value is not None:
                state[key] = [item.step, value, item.quality.task.value, item.name]
        for features in inspected_features(window):
            if features.subject != _GAIN or not features.features.values:
                continue
            state["features"] = features.features.features
            if self.unfit(state):
                return
            state["judged"] = int(state.get("judged", 0)) + 1
            step, value, task, name = (
                state.get("held_out") or state.get("trained") or (0, 0, "", "")
            )
            is_recent = abs(features.step - step) <= LIMITS.max_score_age_steps
            share = features.share(1)
            is_over = share >= LIMITS.min_share and value >= LIMITS.min_score and is_recent
            state["row"] = int(state.get("row", 0)) + 1 if is_over else 0
            if not is_over:
                yield self.recovered(_GAIN)
            elif state["row"] >= LIMITS.inspections_in_a_row:
                feature = features.features.names[0]
                yield self.finding(
                    f"{feature} holds {format_percent(100 * share)} of the total gain of "
                    f"{features.features.features} features, and predictions for {name} are nearly "
                    f"perfect ({_SCORES[Task(task)]} {value:.4g}).",
                    step=features.step,
                    subject=_GAIN,
                    tensor=_GAIN,
                    evidence={"feature": feature, "share_percent": 100 * share, "score": value},
                )

    def unfit(self, state: State) -> str:
        """Return a reason for data with few features."""
        features = int(state.get("features", LIMITS.min_features))
        if features >= LIMITS.min_features:
            return ""
        return f"of {features} features, one may explain the label"

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many inspections are missing."""
        count, minimum = int(state.get("judged", 0)), LIMITS.inspections_in_a_row
        return Shortfall(count, minimum, DataUnit.INSPECTIONS) if count < minimum else ""
