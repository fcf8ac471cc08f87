"""FeatureImportanceOverweight: few features determine the predictions of a boosted model."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from sonde.formats import format_percent
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Between, Count, Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.boosted_models import IMPORTANCE, InspectedFeatures, inspected_features


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of FeatureImportanceOverweight.

    Chosen by hand on programs that train boosted trees (tests/rules/trees) unless a comment says
    otherwise.
    """

    inspections_in_a_row: int = 3
    min_round: int = 10  # the first trees use few features
    features_factor: int = 4  # times `nfeatures`: with fewer features, a large share is normal


LIMITS = Calibration()


class FeatureImportanceOverweight(Rule):
    """Few features hold most of the importance in a boosted model.

    Why it matters: The model depends on them: if one is missing, wrong or unknown when predictions
    are made, the predictions are wrong. One of them may contain the label.
    How it decides:
    - The `nfeatures` largest values of an importance that matches `tensor_regex` hold more than
      `threshold` of the sum, at 3 inspections in a row after round 10.
    - It is `info`, because some data has few informative features.
    - Not applied to data with fewer than 4 times `nfeatures` features.
    - Classic: at every inspection, whatever the round and the number of features.
    What to do: Check that these features are known when predictions are made. Train without them to
    see what the others contribute; use `colsample_bytree`.
    """

    threshold: Annotated[float, Between(0, 1)] = 0.8
    nfeatures: Count = 3
    tensor_regex: Regex = ".*feature_importance/weight"

    section = Section.MODEL
    calibration = LIMITS
    needs = (IMPORTANCE,)
    window_steps: ClassVar[int] = 10
    skips_quiet: ClassVar[bool] = True
    sees_end: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the share of the largest values with the threshold."""
        for item in inspected_features(window):
            if not re.search(self.tensor_regex, item.subject) or not item.features.total:
                continue
            state["features"] = item.features.features
            if self.is_classic:
                streak, needed = 1, 1
            elif self.unfit(state) or item.step < LIMITS.min_round:
                continue
            else:
                streak, needed = int(state.get(item.subject, 0)) + 1, LIMITS.inspections_in_a_row
                state["judged"] = int(state.get("judged", 0)) + 1
            is_over = item.share(self.nfeatures) > self.threshold
            state[item.subject] = streak if is_over else 0
            if is_over and streak >= needed:
                yield self._finding(item)
            elif not is_over:
                yield self.recovered(item.subject)

    def unfit(self, state: State) -> str:
        """Return a reason for data with few features."""
        features = int(state.get("features", 0))
        if self.is_classic or not features or features >= LIMITS.features_factor * self.nfeatures:
            return ""
        return f"of {features} features, a few always hold a large share"

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many inspections are missing."""
        count, minimum = int(state.get("judged", 0)), LIMITS.inspections_in_a_row
        if self.is_classic or count >= minimum:
            return ""
        return Shortfall(count, minimum, DataUnit.INSPECTIONS)

    def _finding(self, item: InspectedFeatures) -> Finding:
        features, share = item.features, item.share(self.nfeatures)
        names = ", ".join(features.names[: self.nfeatures])
        return self.finding(
            f"{names} hold {format_percent(100 * share)} of {item.subject} of "
            f"{features.features} features.",
            severity=Severity.INFO,
            step=item.step,
            subject=item.subject,
            tensor=item.subject,
            evidence={
                "share_percent": 100 * share,
                "features": list(features.names[: self.nfeatures]),
                "values": list(features.values[: self.nfeatures]),
                "used_features": features.used,
            },
        )
