"""StepOutlier: some steps take far longer than the others."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from sonde.analyze.outliers import STEP_DEVIATIONS, STEP_FACTOR, outlier_limit
from sonde.analyze.robust import median_of, quantile_of
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.arrays import BoolArray, FloatArray
from sonde.records.finding import Finding
from sonde.records.need import Observations, Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import COMPUTING_PHASES, DELIBERATE_PHASES, Mode, Phase
from sonde.rules._parameters import Count, ModeName, Positive
from sonde.rules._profiling_rule import ProfilingRule
from sonde.rules._rule import Section, State
from sonde.rules.measures.standstills import STANDSTILLS, Pause, find_pauses, record_standstills
from sonde.rules.measures.training_kind import has_rollout

# long steps at a regular interval are intended if the time goes here (local SGD, for example)
_INTENDED_PHASES = (*COMPUTING_PHASES, Phase.COLLECTIVE.value)
_EPSILON_SECONDS = 1e-9  # avoids a division by zero
_MAX_LISTED = 20
_METRICS = ("cpu.utilization_percent", "cpu.iowait_percent", "gpu.utilization_percent")
_MODES = (Mode.TRAIN.value, Mode.EVAL.value)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of StepOutlier.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    settling_steps: int = 10  # compilation, cold caches, first batches
    recent_steps: int = 400  # for the median
    min_steps: int = 50
    min_factor: float = STEP_FACTOR  # of the median, as on all screens
    # of the ratio of third quartile to median; 6 is 4 standard deviations of a normal distribution
    quartile_power: float = 6.0
    regular_quartile_power: float = 3.0  # the same, for long steps that recur every N steps
    min_lost_share: float = 0.02  # of the time of all steps
    # the same, if no phase stands out, which is typical of other load on the machine
    min_lost_share_no_phase: float = 0.1
    # a phase stands out if its share of the lost time exceeds its share of a median step by this
    phase_excess_share: float = 0.3
    min_seconds: float = 5.0  # lost
    regular_seconds: float = 1.0  # lost, if long steps recur every N steps
    regular_lost_share: float = 0.1  # of the time of all steps, if long steps recur every N steps
    max_run: int = 8  # this many long steps in a row are a slowdown, not outliers
    max_quartile_ratio: float = 2.0  # of third quartile to median; limits the effect of the power
    min_gaps: int = 4  # between long steps, to call them periodic
    even_share: float = 0.6  # of the gaps, which equal the period
    in_phase_share: float = 0.8  # of the long steps, which have the same remainder
    max_remembered: int = 40  # long steps, to detect a period


LIMITS = Calibration()


@dataclass(frozen=True)
class _Outliers:
    """The outliers of one worker in one window."""

    steps: npt.NDArray[np.int64]
    seconds: FloatArray
    median: float
    by_phase: dict[str, float]  # seconds above the median of each phase, summed
    typical_by_phase: dict[str, float]  # median seconds of each phase
    evaluation_count: int  # steps that contain an evaluation, which explains other work, too

    @classmethod
    def of(
        cls,
        table: StepTable,
        seconds: FloatArray,
        is_usable: BoolArray,
        is_long: BoolArray,
        median: float,
    ) -> Self:
        """Select the long steps of a table and sum up their excess time by phase."""
        by_phase, typical_by_phase = {}, {}
        for phase, spent_ns in table.phases_ns.items():
            if phase not in DELIBERATE_PHASES and is_usable.any():
                typical_ns = median_of(spent_ns[is_usable])
                typical_by_phase[phase] = typical_ns / NANOSECONDS
                excess = spent_ns[is_long] - typical_ns
                by_phase[phase] = float(np.maximum(excess, 0).sum()) / NANOSECONDS
        evaluations = int((table.phases_ns[Phase.EVALUATION.value][is_long] > 0).sum())
        steps = table.steps[is_long]
        return cls(steps, seconds[is_long], median, by_phase, typical_by_phase, evaluations)


class StepOutlier(ProfilingRule):
    """Some steps take far longer than the others.

    Why it matters: With several workers, all of them wait for the slowest step, and rare long steps
    often have a cause that can be removed.
    How it decides:
    - A step is long if it exceeds the median of the last 400 by `stddev` robust standard deviations
      and takes 1.5 times the median, or a higher multiple if step times vary widely.
    - Fires if more than `n_outliers` long steps cost 5 seconds and 2% of the time (10% if no phase
      stands out; 1 second and 10% if they recur every N steps).
    - Or if one step takes 5 seconds, 300 times the median and 10% of the time.
    - Evaluation, checkpoints, rollouts, profiled steps, the first 10 steps and runs of 8 or more
      long steps do not count.
    - Classic: more than `n_outliers` steps take longer than mean plus `stddev` standard deviations.
    What to do: Look at what happens in the reported phase: loading (more loader processes, smaller
    shards), periodic logging or saving, garbage collection, or other processes on the machine.
    """

    stddev: Positive = STEP_DEVIATIONS
    n_outliers: Count = 10
    mode: ModeName | None = None

    section = Section.SPEED
    calibration = LIMITS
    classic_defaults: ClassVar[Mapping[str, object]] = {
        **ProfilingRule.classic_defaults,
        "stddev": 5.0,
    }
    needs = (*(Steps(mode) for mode in _MODES), Observations(STANDSTILLS))
    window_steps: ClassVar[int] = 100
    recovers_after: ClassVar[int] = 5

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Look for outliers and single long pauses among the steps of every worker."""
        record_standstills(window, state.of("standstills"))
        is_alone = len(window.attempt.ranks) == 1
        for mode in _MODES if self.mode in (None, "global") else (self.mode,):
            for table in window.steps(mode):
                mode_state = state.of("modes", mode, table.worker)
                if self.is_classic:
                    yield from self._classic(table, mode_state)
                    continue
                seconds, is_usable = self._add_steps(table, mode_state)
                if len(mode_state["recent"]) < LIMITS.min_steps:
                    continue
                if mode == Mode.TRAIN:
                    standstills_state = state.of("standstills")
                    for pause in find_pauses(
                        table, seconds, is_usable, mode_state, standstills_state
                    ):
                        is_usable &= table.steps != pause.step
                        if is_alone or not pause.is_waiting:
                            yield self._pause_finding(pause)
                yield from self._calibrated(window, table, seconds, is_usable, mode_state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        if self.is_classic:
            return ""
        counts = [
            mode.get("seen", 0) for modes in state.of("modes").values() for mode in modes.values()
        ]
        count = max(counts, default=0)
        needed = LIMITS.settling_steps + LIMITS.min_steps
        return "" if count >= needed else Shortfall(count, needed, DataUnit.STEPS)

    def _classic(self, table: StepTable, state: State) -> Iterator[Finding]:
        state.setdefault("microseconds", []).extend((table.durations_ns // 1000).tolist())
        state.setdefault("steps", []).extend(table.steps.tolist())
        seconds = np.array(state["microseconds"]) / 1e6
        limit = float(seconds.mean() + self.stddev * seconds.std())
        indices = np.flatnonzero(seconds > limit)
        if len(indices) > self.n_outliers:
            steps = np.array(state["steps"])[indices]
            yield self.finding(
                f"{len(indices)} {table.mode} steps of worker {table.worker} took longer than "
                f"{format_duration(limit)} (mean: {format_duration(float(seconds.mean()))}).",
                step=(int(steps.min()), int(steps.max())),
                worker=table.worker,
                subject=f"{table.mode}/{table.worker}",
                evidence={
                    "count": len(indices),
                    "limit_seconds": limit,
                    "mean_seconds": float(seconds.mean()),
                    "steps": [float(step) for step in steps[-_MAX_LISTED:]],
                },
            )

    def _add_steps(self, table: StepTable, state: State) -> tuple[FloatArray, BoolArray]:
        """Add steps to the history; return their durations and which of them are usable."""
        count = state.get("seen", 0)
        state["seen"] = count + len(table.steps)
        is_usable = ~(table.is_profiled | table.is_skipped | has_rollout(table))
        is_usable[: max(0, LIMITS.settling_steps - count)] = False
        seconds = _training_seconds(table)
        recent = (state.get("recent", []) + seconds[is_usable].tolist())[-LIMITS.recent_steps :]
        state["recent"] = recent
        state["total"] = state.get("total", 0.0) + float(seconds[is_usable].sum())
        return seconds, is_usable

    def _calibrated(
        self,
        window: Window,
        table: StepTable,
        seconds: FloatArray,
        is_usable: BoolArray,
        state: State,
    ) -> Iterator[Finding]:
        ordered = np.sort(np.array(state["recent"]))
        typical = max(median_of(ordered), median_of(seconds))
        is_long = _without_long_runs(
            is_usable & (seconds > self._limit(ordered, typical, LIMITS.quartile_power))
        )
        is_longer = _without_long_runs(
            is_usable & (seconds > self._limit(ordered, typical, LIMITS.regular_quartile_power))
        )
        long_steps = state.setdefault("longer", [])
        long_steps += zip(table.steps[is_longer].tolist(), seconds[is_longer].tolist(), strict=True)
        del long_steps[: -LIMITS.max_remembered]
        regular = _regular_limit(long_steps)
        if regular is not None:
            is_long = is_longer & (seconds > regular)
        if not is_long.any():
            return
        outliers = _Outliers.of(table, seconds, is_usable, is_long, typical)
        self._add_outliers(window, table, outliers, state)
        if state["count"] > self.n_outliers and state["lost"] > _min_loss_seconds(state):
            yield self._finding(table, outliers, state)

    def _pause_finding(self, pause: Pause) -> Finding:
        where = f" in {pause.line}" if pause.line else f", mostly in phase {pause.phase}"
        return self.finding(
            f"Step {pause.step} of worker {pause.worker} took {format_duration(pause.seconds)}"
            f"{where} (median: {format_duration(pause.median)}), "
            f"{format_percent(100 * pause.share)} of the training time so far.",
            step=pause.step,
            worker=pause.worker,
            subject=f"pause/{pause.worker}",
            evidence={
                "usual_seconds": pause.median,
                "lost_seconds": pause.seconds - pause.median,
                "lost_percent": 100 * pause.share,
                "phase": pause.phase,
                "line": pause.line,
                "steps": [float(pause.step)],
            },
        )

    def _limit(self, ordered: FloatArray, median: float, quartile_power: float) -> float:
        """Return the duration above which a step is long.

        If step times vary widely, the limit is higher, unless `stddev` was set explicitly.
        """
        factor = LIMITS.min_factor
        if "stddev" not in self.explicit_parameters:
            ratio = quantile_of(ordered, 0.75) / max(median, _EPSILON_SECONDS)
            factor = max(factor, min(ratio, LIMITS.max_quartile_ratio) ** quartile_power)
        return outlier_limit(ordered, self.stddev, factor, median)

    def _add_outliers(
        self, window: Window, table: StepTable, outliers: _Outliers, state: State
    ) -> None:
        state["count"] = state.get("count", 0) + len(outliers.steps)
        state["asked"] = state.get("asked", 0) + outliers.evaluation_count
        lost = float((outliers.seconds - outliers.median).sum())
        state["lost"] = state.get("lost", 0.0) + lost
        state["steps"] = (state.get("steps", []) + outliers.steps.tolist())[-_MAX_LISTED:]
        phases = state.of("phases")
        for phase, seconds in outliers.by_phase.items():
            phases[phase] = phases.get(phase, 0.0) + seconds
        state["usual_phases"] = outliers.typical_by_phase
        machine = state.of("machine")
        for metric, inside, outside in _mean_metrics(window, table, outliers.steps):
            sums = machine.get(metric, [0.0, 0.0, 0])
            machine[metric] = [sums[0] + inside, sums[1] + outside, sums[2] + 1]

    def _finding(self, table: StepTable, outliers: _Outliers, state: State) -> Finding:
        phase = _worst_phase(state)
        share = 100 * state["lost"] / state["total"]
        period = _period(state["steps"])
        every = f", about every {period} steps" if period else ""
        machine = {
            name: [inside / count, outside / count]
            for name, (inside, outside, count) in state.of("machine").items()
        }
        return self.finding(
            f"{state['count']} {table.mode} steps of worker {table.worker} took much longer than "
            f"the median of {format_duration(outliers.median)}{every}, most of it in phase "
            f"{phase}. This costs {format_percent(share)} of the training time.",
            step=(int(outliers.steps[0]), int(outliers.steps[-1])),
            worker=table.worker,
            subject=f"{table.mode}/{table.worker}",
            evidence={
                "count": state["count"],
                "usual_seconds": outliers.median,
                "lost_seconds": state["lost"],
                "lost_percent": share,
                "phase": phase,
                "period_steps": period,
                "steps": [float(step) for step in state["steps"]],
                **{f"{name} (outliers, others)": pair for name, pair in machine.items()},
            },
        )


def _min_loss_seconds(state: State) -> float:
    """Return the minimum time lost to outliers for a finding."""
    total = state["total"]
    if not _has_dominant_phase(state):
        return float(max(LIMITS.min_seconds, LIMITS.min_lost_share_no_phase * total))
    minimum = max(LIMITS.min_seconds, LIMITS.min_lost_share * total)
    is_intended = _worst_phase(state) in _INTENDED_PHASES or 2 * state["asked"] > state["count"]
    if is_intended or _period(state["steps"]) is None:
        return float(minimum)
    return float(min(minimum, max(LIMITS.regular_seconds, LIMITS.regular_lost_share * total)))


def _worst_phase(state: State) -> str:
    """Return the phase in which most of the time was lost, or an empty string."""
    phases = state.of("phases")
    return max(phases, key=lambda name: float(phases[name])) if phases else ""


def _has_dominant_phase(state: State) -> bool:
    """Whether a phase has a much larger share of the lost time than of a median step."""
    lost, typical = state.of("phases"), state["usual_phases"]
    total, usual_total = sum(lost.values()) or 1.0, sum(typical.values()) or 1.0
    return any(
        lost[phase] / total - typical.get(phase, 0.0) / usual_total > LIMITS.phase_excess_share
        for phase in lost
    )


def _without_long_runs(is_long: BoolArray) -> BoolArray:
    """Clear runs of consecutive long steps: they are a slowdown, not outliers."""
    if not is_long.any():
        return is_long
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_long, [False])).astype(np.int8)))
    isolated = is_long.copy()
    for first, end in edges.reshape(-1, 2).tolist():
        if end - first >= LIMITS.max_run:
            isolated[first:end] = False
    return isolated


def _training_seconds(table: StepTable) -> FloatArray:
    """Return the durations of steps without evaluation and checkpoints."""
    deliberate = sum(
        (table.phases_ns[item] for item in DELIBERATE_PHASES), np.zeros(len(table.steps))
    )
    return np.asarray((table.durations_ns - deliberate) / NANOSECONDS)


def _mean_metrics(
    window: Window, table: StepTable, steps: npt.NDArray[np.int64]
) -> Iterator[tuple[str, float, float]]:
    """Yield each metric with its mean during the outliers and during the other steps."""
    starts_ns, ends_ns = table.starts_ns, table.ends_ns
    is_outlier = np.isin(table.steps, steps)
    for metric in _METRICS:
        series = [samples for samples in window.system(metric) if "core" not in samples.device]
        times_ns = np.concatenate(
            [samples.times_ns for samples in series] or [np.empty(0, np.int64)]
        )
        values = np.concatenate([samples.values for samples in series] or [np.empty(0, np.float32)])
        indices = np.searchsorted(starts_ns, times_ns, side="right") - 1
        is_in = (indices >= 0) & (times_ns < ends_ns[np.maximum(indices, 0)])
        inside = values[is_in & is_outlier[np.maximum(indices, 0)]]
        outside = values[is_in & ~is_outlier[np.maximum(indices, 0)]]
        if len(inside) and len(outside):
            yield metric, float(inside.mean()), float(outside.mean())


def _period(steps: Sequence[int]) -> int | None:
    """Return the number of steps between outliers if it is nearly constant, else None.

    Occasional missing or additional outliers are allowed.
    """
    gaps = np.diff(np.array(steps))
    if len(gaps) < LIMITS.min_gaps:
        return None
    typical = int(np.median(gaps))
    if typical <= 1 or float(np.mean(gaps == typical)) < LIMITS.even_share:
        return None
    in_phase = np.bincount(np.array(steps) % typical).max() / len(steps)
    return typical if in_phase >= LIMITS.in_phase_share else None


def _regular_limit(long_steps: Sequence[tuple[int, float]]) -> float | None:
    """Return the minimum duration of long steps that recur every N steps, or None if none do.

    Such steps have similar durations and take longer than most random outliers.
    """
    if not long_steps:
        return None
    limit = median_of(sorted(seconds for _, seconds in long_steps)[len(long_steps) // 2 :]) / 2
    return limit if _period([step for step, seconds in long_steps if seconds > limit]) else None
