"""LoadBalancing: some GPUs of a job work much more than others."""

from collections.abc import Iterator
from itertools import combinations
from typing import ClassVar

import numpy as np

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Patience, Positive
from sonde.rules._rule import Rule, State
from sonde.rules.system._datapoints import Counting, Values
from sonde.rules.system._job_gpus import holds_memory, note_memory

_METRIC = "gpu.utilization_percent"
_BINS = 10
_LEAST = 120  # datapoints of every GPU, calibrated: a minute at the usual interval
_IN_A_ROW = 2  # such stretches, calibrated
_IDLE = 1.0  # percent, in the mean: a GPU that does nothing at all is another rule's matter


class LoadBalancing(Rule):
    """Some GPUs of a job work much more than others.

    Why it matters: all of them wait for the busiest one, and you pay for all.
    How it decides: utilization of every GPU of all nodes as a histogram of ten bins; fires when the
    distance between two of them exceeds threshold. Classic takes half the sum of the differences
    over the whole job. Calibrated takes how far, in the mean, the one would have to be moved to
    become the other (0.2: twenty percentage points), so that 89 % and 91 % are neighbours; over
    stretches of 120 datapoints of training, two in a row; without GPUs that do nothing or on which
    the job has no memory.
    What to do: give every GPU the same work: distributed samplers, batches of equal length, layers
    split by their cost; a slow one may be throttled or shared with somebody.
    """

    threshold: Positive = 0.2
    patience: Patience = "auto"

    needs = (Metric(_METRIC),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 120.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Adds to the histograms of all GPUs, and compares them."""
        counting = Counting(self.patience, self.is_classic)
        counting.begin(window, state)
        note_memory(window, state)
        gpus = state.of("gpus")
        for samples in window.system(_METRIC):
            name = f"{samples.node}/{samples.device}"
            _, values = counting.take(state, name, samples.times_ns, samples.values)
            places = np.clip(values * _BINS / 100, 0, _BINS - 1).astype(np.int64)
            counts = np.bincount(places, minlength=_BINS)
            gpu = gpus.of(name)
            gpu["counts"] = (np.array(gpu.get("counts", [0] * _BINS)) + counts).tolist()
            gpu["sum"] = gpu.get("sum", 0.0) + float(values.sum())
            gpu["is_own"] = self.is_classic or holds_memory(samples, state) is not False
        seen = [sum(gpu["counts"]) for gpu in gpus.values()]
        if len(seen) > 1 and min(seen) >= (1 if self.is_classic else _LEAST):
            yield self._judge(state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        if self.is_classic or state.get("judged"):
            return ""
        has = min(sum(gpu["counts"]) for gpu in state.of("gpus").values())
        return Shortfall(has, _LEAST, DataUnit.SYSTEM_SAMPLES)

    def unfit(self, state: State) -> str:
        """One GPU has nobody to be compared with."""
        return "there is one GPU" if len(state.of("gpus")) == 1 else ""

    def _judge(self, state: State) -> Finding:
        gpus = {name: State(gpu) for name, gpu in state.of("gpus").items()}
        shares = {
            name: np.array(gpu["counts"]) / sum(gpu["counts"])
            for name, gpu in gpus.items()
            if gpu["is_own"] and (self.is_classic or _mean(gpu) >= _IDLE)
        }
        pairs = list(combinations(shares, 2))
        distances = self._distances(shares, pairs) if pairs else np.zeros(1)
        worst = int(distances.argmax())
        is_uneven = float(distances[worst]) > self.threshold
        state["judged"] = True
        state["in_a_row"] = state.get("in_a_row", 0) + 1 if is_uneven else 0
        if not self.is_classic:
            state.of("gpus").clear()
        if not pairs or state["in_a_row"] < (1 if self.is_classic else _IN_A_ROW):
            return self.recovered("gpus")
        means = {name: _mean(gpus[name]) for name in shares}
        return self._found(pairs[worst], float(distances[worst]), means)

    def _distances(self, shares: dict[str, Values], pairs: list[tuple[str, str]]) -> Values:
        apart = np.array([shares[one] - shares[other] for one, other in pairs])
        if self.is_classic:
            return np.asarray(np.abs(apart).sum(axis=1) / 2)
        return np.asarray(np.abs(apart.cumsum(axis=1)).sum(axis=1) / _BINS)

    def _found(self, pair: tuple[str, str], distance: float, means: dict[str, float]) -> Finding:
        lazy, eager = sorted(pair, key=lambda name: means[name])
        node, _, device = lazy.partition("/")
        return self.finding(
            f"{device} of {node} is {means[lazy]:.0f} % busy in the mean, {_place(eager)} "
            f"{means[eager]:.0f} %: their utilization is {distance:.2f} apart.",
            node=node,
            device=device,
            subject="gpus",
            evidence={
                "distance": distance,
                "threshold": self.threshold,
                "gpus": list(means),
                "mean_percent": list(means.values()),
            },
        )


def _mean(gpu: State) -> float:
    return float(gpu["sum"]) / max(1, int(sum(gpu["counts"])))


def _place(name: str) -> str:
    node, _, device = name.partition("/")
    return f"{device} of {node}"
