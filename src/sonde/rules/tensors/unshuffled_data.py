"""UnshuffledData: batches arrive sorted by label or in another repeating order."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.batch_cycles import LIMITS as CYCLES
from sonde.analyze.batch_cycles import BatchCycle, alternates_series, find_cycle, is_unwanted_order
from sonde.formats import format_percent
from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations
from sonde.records.observations.batches import LabelCounts, MeansOfBatches
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt, is_reinforcement_learning

_KIND, _MEANS = "label-batch", "batch-means"
_INPUT = "input"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of UnshuffledData.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_batch: int = 4
    min_inspections: int = 6
    max_inspections: int = 64  # kept
    # of one class per batch, on average; at class boundaries a batch has two
    purity_share: float = 0.85
    min_classes: int = 2
    dominant_share: float = 0.7  # of all labels; such a class fills batches even if shuffled
    ordered_share: float = 0.8  # of class changes in one direction


LIMITS = Calibration()


class UnshuffledData(Rule):
    """Batches arrive sorted by label or in another repeating order.

    Why it matters: The model learns to predict the current class and forgets it with the next one.
    The loss oscillates with the epoch, and batch normalization learns the statistics of one class
    at a time.
    How it decides:
    - By labels: in 6 or more inspected batches, 85% of the labels are of one class on average, 2 or
      more classes appear (none with 70% of all labels), and 80% of the changes go in one direction.
    - By means of labels or inputs over 2.5 epochs: the means of batches vary 3 times more than in
      shuffled data, change slowly, and repeat in the next epoch.
    - Not applied to time series, batches of one class in random order, curricula, alternating
      losses and reinforcement learning.
    What to do: Use `DataLoader(..., shuffle=True)`, or shuffle the files once before training. With
    a streamed dataset, use a shuffle buffer larger than a class.
    """

    section = Section.DATA
    calibration = LIMITS
    needs = (Observations(_KIND), Observations(_MEANS))
    window_steps: ClassVar[int] = 20
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LossNotDecreasing", "LossSpike")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Record the classes and means of batches and report repeating orders."""
        begin_attempt(window, state)
        yield from self._check_means(window, state)
        latest = {}
        for observation in window.observations(_KIND):
            counts = LabelCounts.of(observation).counts
            if observation.value >= LIMITS.min_batch and counts:
                self._add_labels(observation.step, counts, state.of("workers", observation.worker))
                latest[observation.worker] = observation
        for worker, last in latest.items():
            yield from self._check_labels(last, state.of("workers", worker))

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many inspections are missing."""
        count = max((len(worker["purity"]) for worker in state.of("workers").values()), default=0)
        if any(mean.get("is_judged") for mean in state.of("means").values()):
            return ""
        return (
            ""
            if count >= LIMITS.min_inspections
            else Shortfall(count, LIMITS.min_inspections, DataUnit.INSPECTIONS)
        )

    def _check_means(self, window: Window, state: State) -> Iterator[Finding]:
        observations = window.observations(_MEANS)
        if observations and is_reinforcement_learning(window):
            state["plays"] = True
        latest = {}
        for observation in () if state.get("plays") else observations:
            mean_state = state.of("means", observation.subject)
            batches = MeansOfBatches.of(observation)
            is_first = observation.worker == mean_state.setdefault("worker", observation.worker)
            if is_first and batches.means and batches.size:
                _add_means(observation, batches, mean_state)
                latest[observation.subject] = observation
        for subject, observation in latest.items():
            mean_state = state.of("means", subject)
            # in blocks of one class, labels are equal from row to row, so prefer inputs
            rough = (state.of("means").get(_INPUT) or mean_state)["rough"]
            chance = mean_state["within"] / mean_state["size"]
            cycle = find_cycle(mean_state["values"], chance)
            mean_state["is_judged"] = mean_state.get("is_judged", False) or cycle is not None
            if cycle is None or not is_unwanted_order(cycle, mean_state["within"], rough):
                continue
            if not alternates_series(mean_state["values"], mean_state["lengths"], chance):
                yield self._cycle_finding(observation, cycle, mean_state)

    def _cycle_finding(self, observation: Observation, cycle: BatchCycle, state: State) -> Finding:
        share = cycle.variance / (cycle.variance + state["within"])
        return self.finding(
            f"Batches follow an order that repeats every {cycle.period} batches: "
            f"{format_percent(100 * share)} of the variance of the {observation.subject} is "
            "between batches; with shuffled data it would be "
            f"{format_percent(100 / state['size'])}.",
            step=(int(state["first"]), observation.step),
            subject=f"{observation.subject}/{observation.worker}",
            worker=observation.worker,
            evidence={
                "period": cycle.period,
                "share": share,
                "again": cycle.correlation,
                "batches": len(state["values"]),
            },
        )

    def _check_labels(self, last: Observation, state: State) -> Iterator[Finding]:
        if len(state["purity"]) < LIMITS.min_inspections:
            return
        counts = np.array(list(state.of("counts").values()), dtype=np.float64)
        purity = float(np.mean(state["purity"]))
        is_pure = purity >= LIMITS.purity_share and len(counts) >= LIMITS.min_classes
        if (
            is_pure
            and counts.max() < LIMITS.dominant_share * counts.sum()
            and _is_in_order(state["classes"])
        ):
            yield self._order_finding(purity, last, state)
        elif purity < LIMITS.purity_share:
            yield self.recovered(f"labels/{last.worker}")

    def _add_labels(self, step: int, labels: Mapping[str, int], state: State) -> None:
        main_label = max(labels, key=lambda name: labels[name])
        total = sum(labels.values())
        for name, value in (("purity", labels[main_label] / total), ("classes", int(main_label))):
            state[name] = [*state.get(name, []), value][-LIMITS.max_inspections :]
        state.setdefault("first", step)
        # weight inspections by the steps since the previous one; the first ones are frequent
        weight = max(1, step - state.get("last", step))
        state["last"] = step
        counts = state.of("counts")
        for label, count in labels.items():
            counts[label] = counts.get(label, 0.0) + weight * count / total

    def _order_finding(self, purity: float, last: Observation, state: State) -> Finding:
        classes = state["classes"]
        order = ", ".join(str(label) for label in classes[:12])
        return self.finding(
            f"Batches consist almost entirely of one class ({format_percent(100 * purity)} of "
            f"their labels), in order: {order}.",
            step=(int(state["first"]), last.step),
            subject=f"labels/{last.worker}",
            worker=last.worker,
            evidence={
                "purity": purity,
                "classes": [float(label) for label in classes],
                "batches": len(classes),
            },
        )


def _add_means(observation: Observation, batches: MeansOfBatches, state: State) -> None:
    state.setdefault("first", max(0, observation.step - round(observation.value) + 1))
    state["values"] = [*state.get("values", []), *batches.means][-CYCLES.max_means :]
    state["lengths"] = [*state.get("lengths", []), len(batches.means)][-CYCLES.max_means :]
    state["size"] = float(batches.size)
    for name, value in (("within", batches.within), ("rough", batches.rough)):
        average = state.get(name)
        state[name] = value if average is None else average + (value - average) / 2


def _is_in_order(classes: list[int]) -> bool:
    """Whether classes follow each other in one direction, except where a new epoch begins."""
    changes = np.diff(np.array(classes))
    changes = changes[changes != 0]
    if not len(changes):
        return False
    return bool(
        max(float(np.mean(changes > 0)), float(np.mean(changes < 0))) >= LIMITS.ordered_share
    )
