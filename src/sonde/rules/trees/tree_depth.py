"""TreeDepth: trees of a boosted model are too deep."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.records.observations.boosting import TreeShapes
from sonde.rules._parameters import Count
from sonde.rules._rule import Rule, Section, State

_TREES = Observations(ObservationKind.TREES.value)
_SUBJECT = "trees"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of TreeDepth.

    Chosen by hand on programs that train boosted trees (tests/rules/trees) unless a comment says
    otherwise.
    """

    max_rows_per_leaf: float = 10.0  # mean; such trees fit single rows
    inspections_in_a_row: int = 3


LIMITS = Calibration()


class TreeDepth(Rule):
    """Trees of a boosted model are so deep that their leaves hold few rows.

    Why it matters: Deep trees fit noise in single rows, and make the model large and slow.
    How it decides:
    - The deepest tree of a round is deeper than `depth`, and its leaves hold fewer than 10 rows of
      the training data on average, at 3 inspections in a row. It is `info`.
    - If you set `depth`: a tree is deeper than that, whatever its leaves hold.
    - Classic: a tree is deeper than `depth`.
    What to do: Lower `max_depth` (or `num_leaves`), or raise `min_child_weight` or `gamma`. Compare
    the validation loss.
    """

    depth: Count = 4

    section = Section.MODEL
    calibration = LIMITS
    needs = (_TREES,)
    window_steps: ClassVar[int] = 10
    skips_quiet: ClassVar[bool] = True
    sees_end: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the depth of the trees of each inspected round with the limit."""
        is_strict = self.is_classic or "depth" in self.explicit_parameters
        for observation in window.observations(_TREES.kind):
            shapes = TreeShapes.of(observation)
            rows_per_leaf = shapes.rows / max(1, shapes.leaves)
            is_sparse = rows_per_leaf < LIMITS.max_rows_per_leaf
            is_over = shapes.depth > self.depth and (is_strict or is_sparse)
            state["row"] = int(state.get("row", 0)) + 1 if is_over else 0
            state["deepest"] = max(int(state.get("deepest", 0)), shapes.depth)
            if is_over and (is_strict or state["row"] >= LIMITS.inspections_in_a_row):
                yield self.finding(
                    f"A tree of round {observation.step} has depth {shapes.depth} and "
                    f"{shapes.leaves:,} leaves for {shapes.rows:,} rows: {rows_per_leaf:.1f} rows "
                    "per leaf.",
                    severity=Severity.WARNING if is_strict else Severity.INFO,
                    step=observation.step,
                    subject=_SUBJECT,
                    evidence={
                        "depth": shapes.depth,
                        "leaves": shapes.leaves,
                        "rows": shapes.rows,
                        "deepest": state["deepest"],
                    },
                )
            elif not is_over:
                yield self.recovered(_SUBJECT)
