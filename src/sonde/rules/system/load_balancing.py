"""LoadBalancing: some GPUs of a job do much more work than others."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from sonde.analyze.balance import BINS, distances, histogram
from sonde.formats import format_percent
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.records.shortfall import Shortfall
from sonde.rules._parameters import Patience, Positive
from sonde.rules._profiling_rule import ProfilingRule
from sonde.rules._rule import Section, State
from sonde.rules.measures.job_gpus import holds_memory, record_job_memory
from sonde.rules.measures.system_samples import SampleFilter, Values, missing_samples

_METRIC = "gpu.utilization_percent"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of LoadBalancing.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_samples: int = 60  # per GPU, half a minute at the default interval
    full_samples: int = 120  # enough for a decision without a margin
    margin_deviations: float = 3.0  # of the noise of the difference; jobs have many pairs of GPUs
    similar_samples: float = 4.0  # neighbors count as one: utilization lasts for seconds
    intervals_in_a_row: int = 2
    idle_percent: float = 1.0  # IdleGPU reports idle GPUs


LIMITS = Calibration()


class LoadBalancing(ProfilingRule):
    """Some GPUs of a job do much more work than others.

    Why it matters: All GPUs wait for the busiest one, and you pay for all of them.
    How it decides:
    - The utilization histograms (10 bins) of two GPUs differ by more than `threshold`: the average
      shift needed to turn one into the other (0.2 is 20 percentage points).
    - This holds in 2 intervals of 120 samples of training in a row. If no interval was balanced so
      far, 60 samples (30 s) are enough, provided that the distance exceeds `threshold` by 3
      standard deviations of its noise.
    - The first 3 steps, and steps that mostly evaluate or save a checkpoint, do not count.
    - GPUs that are idle, or on which the job holds no memory, do not count. Not applied to jobs
      with one GPU.
    - Classic: half the sum of the histogram differences over the whole job exceeds `threshold`.
    What to do: Give every GPU the same work: distributed samplers, batches of equal length, layers
    split by cost. A slow GPU may be throttled or shared.
    """

    threshold: Positive = 0.2
    patience: Patience = "auto"

    section = Section.MACHINE
    calibration = LIMITS
    classic_defaults: ClassVar[Mapping[str, object]] = {
        **ProfilingRule.classic_defaults,
        "threshold": 0.5,
        "patience": 10,
    }
    needs = (Metric(_METRIC),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 15.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Update the utilization histograms of all GPUs, and compare them."""
        sample_filter = SampleFilter(self.patience, self.is_classic, is_early=not self.is_classic)
        sample_filter.begin(window, state)
        record_job_memory(window, state)
        gpus = state.of("gpus")
        for samples in window.system(_METRIC):
            name = f"{samples.node}/{samples.device}"
            _, values = sample_filter.take(state, name, samples.times_ns, samples.values)
            gpu = gpus.of(name)
            bins = np.array(gpu.get("counts", [0] * BINS)) + histogram(values)
            gpu["counts"] = bins.tolist()
            gpu["sum"] = gpu.get("sum", 0.0) + float(values.sum())
            gpu["squares"] = gpu.get("squares", 0.0) + float((values * values).sum())
            gpu["is_own"] = self.is_classic or holds_memory(samples, state) is not False
        counts = [sum(gpu["counts"]) for gpu in gpus.values()]
        # after an even interval, a difference is news, and a short one is no fault
        is_first = not state.get("was_even")
        needed = LIMITS.min_samples if is_first else LIMITS.full_samples
        needed = 1 if self.is_classic else needed
        if len(counts) > 1 and min(counts) >= needed:
            yield from self._judge(state, min(counts))

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        if state.get("judged"):
            return ""
        has = min(sum(gpu["counts"]) for gpu in state.of("gpus").values())
        needed = 1 if self.is_classic else LIMITS.min_samples
        return missing_samples(has, needed, self.patience, state)

    def unfit(self, state: State) -> str:
        """Jobs with one GPU."""
        return "the job has only one GPU" if len(state.of("gpus")) == 1 else ""

    def _judge(self, state: State, count: int) -> Iterator[Finding]:
        gpus = {name: State(gpu) for name, gpu in state.of("gpus").items()}
        shares = {
            name: np.array(gpu["counts"]) / sum(gpu["counts"])
            for name, gpu in gpus.items()
            if gpu["is_own"] and (self.is_classic or _mean(gpu) >= LIMITS.idle_percent)
        }
        pairs = list(combinations(shares, 2))
        pair_distances = self._distances(shares, pairs) if pairs else np.zeros(1)
        worst = int(pair_distances.argmax())
        distance = float(pair_distances[worst])
        is_uneven = distance > self.threshold
        is_partial = not self.is_classic and count < LIMITS.full_samples
        if is_partial and abs(distance - self.threshold) <= _noise(gpus, pairs):
            return  # wait for the rest of the interval
        state["judged"] = True
        state["was_even"] = state.get("was_even", False) or not is_uneven
        state["in_a_row"] = state.get("in_a_row", 0) + 1 if is_uneven else 0
        if not self.is_classic:
            state.of("gpus").clear()
        if not pairs or state["in_a_row"] < (1 if self.is_classic else LIMITS.intervals_in_a_row):
            yield self.recovered("gpus")
            return
        means = {name: _mean(gpus[name]) for name in shares}
        yield self._finding(pairs[worst], distance, means)

    def _distances(self, shares: dict[str, Values], pairs: list[tuple[str, str]]) -> Values:
        if self.is_classic:
            differences = np.array([shares[first] - shares[second] for first, second in pairs])
            return np.asarray(np.abs(differences).sum(axis=1) / 2)
        matrix, rows = distances(list(shares.values())), list(shares)
        return np.array([matrix[rows.index(first), rows.index(second)] for first, second in pairs])

    def _finding(self, pair: tuple[str, str], distance: float, means: dict[str, float]) -> Finding:
        lowest, highest = sorted(pair, key=lambda name: means[name])
        node, _, device = lowest.partition("/")
        return self.finding(
            f"Mean utilization is {format_percent(means[lowest])} on {_label(lowest)} and "
            f"{format_percent(means[highest])} on {_label(highest)} (distance {distance:.2f}).",
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


def _noise(gpus: dict[str, State], pairs: list[tuple[str, str]]) -> float:
    """The noise of the distance between two GPUs, at most, as a share of the whole scale."""
    errors = {name: _error(gpu) for name, gpu in gpus.items()}
    noises = [math.hypot(errors[first], errors[second]) for first, second in pairs]
    return LIMITS.margin_deviations * max(noises, default=0.0) / 100


def _error(gpu: State) -> float:
    """The standard error of the mean utilization of a GPU."""
    count = max(1, int(sum(gpu["counts"])))
    variance = max(0.0, float(gpu["squares"]) / count - _mean(gpu) ** 2)
    return math.sqrt(variance / (count / LIMITS.similar_samples))


def _label(name: str) -> str:
    node, _, device = name.partition("/")
    return f"{device} of {node}"
