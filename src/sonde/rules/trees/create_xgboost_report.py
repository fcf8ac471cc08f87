"""CreateXgboostReport: the results of a boosted model."""

from collections.abc import Iterator
from typing import Any, ClassVar

from sonde.read.window import Window
from sonde.records.finding import Evidence, Finding
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.records.observations.boosting import TreeShapes
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.boosted_models import (
    IMPORTANCE,
    QUALITY,
    accuracy,
    inspected_data,
    inspected_features,
    score,
)

_TREES = Observations(ObservationKind.TREES.value)
_MAX_LISTED = 5


class CreateXgboostReport(Rule):
    """How good is the boosted model, and what does it depend on? Statistics only: it never fires.

    Why it matters: All results of a training run are in one place: predictions, features and trees.
    How it decides:
    - For each data set: the task (binary, multiclass or regression), rows, accuracy and score (AUC,
      balanced accuracy or R²) after the last inspected round.
    - The 5 most important features of each kind, and the depth of the deepest tree.
    - The report of the job has the charts: labels, losses, feature importance, confusion matrix,
      accuracy of each class, ROC curve, residuals and errors by label.
    What to do: Open the report, section "Boosted trees".
    """

    section = Section.MODEL
    needs = (QUALITY, IMPORTANCE, _TREES)
    window_steps: ClassVar[int] = 50
    sees_end: ClassVar[bool] = True

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Keep the latest results."""
        for item in inspected_data(window):
            quality = item.quality
            state.of("data")[item.name] = {
                "task": quality.task.value,
                "rows": quality.rows,
                "accuracy": accuracy(quality),
                "score": score(quality),
            }
        for each in inspected_features(window):
            state.of("features")[each.subject] = list(each.features.names[:_MAX_LISTED])
        for observation in window.observations(_TREES.kind):
            depth = TreeShapes.of(observation).depth
            state["depth"] = max(int(state.get("depth", 0)), depth)
        yield from ()

    def summary(self, state: State) -> Evidence:
        """The latest results by data set, the most important features, and the largest depth."""
        summary: dict[str, Any] = {}
        for name, results in state.of("data").items():
            summary |= {
                f"{name} {key}": value for key, value in results.items() if value is not None
            }
        summary |= dict(state.of("features"))
        return summary | ({"deepest tree": state["depth"]} if "depth" in state else {})
