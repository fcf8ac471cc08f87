"""StepOutlier: some steps take far longer than the others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from sonde.analyze.outliers import robust_deviation
from sonde.analyze.robust import median_of, quantile_of
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.arrays import BoolArray, FloatArray
from sonde.records.finding import Finding
from sonde.records.need import Observations, Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Mode, Phase
from sonde.rules._parameters import Count, Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.standstills import STANDSTILLS, Pause, find_pauses, record_standstills
from sonde.rules.measures.training_kind import has_rollout

_COMPUTING = (Phase.FORWARD.value, Phase.BACKWARD.value, Phase.OPTIMIZER.value)
_MEANT = (*_COMPUTING, Phase.COLLECTIVE.value)  # every so many steps: workers that meet seldom
_DELIBERATE = (Phase.EVALUATION.value, Phase.CHECKPOINT.value)
_MIN_SECONDS = 1e-9  # seconds
_MAX_LISTED = 20
_METRICS = ("cpu.utilization_percent", "cpu.iowait_percent", "gpu.utilization_percent")
_OF_ALL_MODES = (Mode.TRAIN.value, Mode.EVAL.value)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of StepOutlier.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    settling_steps: int = 10  # compilation, cold caches, first batches
    recent_steps: int = 400  # for the median
    min_steps: int = 50
    min_factor: float = 1.5  # of the median
    # third quartile over median, to this power: four deviations of a normal
    quartile_power: float = 6.0
    regular_quartile_power: float = 3.0  # likewise for steps that recur every N steps
    min_lost_share: float = 0.02  # of the time of all steps
    # likewise if no phase stands out, as with other load on the machine
    min_lost_share_no_phase: float = 0.1
    # of the lost time beyond its usual share: that phase is responsible
    phase_excess_share: float = 0.3
    min_seconds: float = 5.0  # lost
    regular_seconds: float = 1.0  # lost, if long steps recur every N steps
    regular_lost_share: float = 0.1  # likewise, of the time of all steps
    max_run: int = 8  # long steps in a row; more are a slowdown, not outliers
    # a quarter of the steps takes twice as long: normal for this training
    max_quartile_ratio: float = 2.0
    min_gaps: int = 4  # between long steps, to call them periodic
    even_share: float = 0.6  # of gaps that equal the period
    in_phase_share: float = 0.8  # of steps at multiples of the period
    max_remembered: int = 40  # long steps, to detect a period


LIMITS = Calibration()


@dataclass(frozen=True)
class _Outliers:
    """The outliers of one worker in one window."""

    steps: npt.NDArray[np.int64]
    seconds: FloatArray
    median: float
    by_phase: dict[str, float]  # seconds above the usual, added up
    usual_by_phase: dict[str, float]  # seconds of a usual step
    with_evaluation: int  # how many have an evaluation inside: what goes with it is meant

    @classmethod
    def of(
        cls,
        table: StepTable,
        seconds: FloatArray,
        is_usable: BoolArray,
        is_long: BoolArray,
        value: float,
    ) -> Self:
        """Those steps of a table, and where their time goes."""
        by_phase, usual_by_phase = {}, {}
        for phase, spent_ns in table.phases_ns.items():
            if phase not in _DELIBERATE and is_usable.any():
                usual_ns = median_of(spent_ns[is_usable])
                usual_by_phase[phase] = usual_ns / NANOSECONDS
                excess = spent_ns[is_long] - usual_ns
                by_phase[phase] = float(np.maximum(excess, 0).sum()) / NANOSECONDS
        evaluations = int((table.phases_ns[Phase.EVALUATION.value][is_long] > 0).sum())
        steps = table.steps[is_long]
        return cls(steps, seconds[is_long], value, by_phase, usual_by_phase, evaluations)


class StepOutlier(Rule):
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

    stddev: Positive = 3.0
    n_outliers: Count = 10
    mode: Literal["train", "eval", "predict"] | None = None

    section = Section.SPEED
    calibration = LIMITS
    needs = (*(Steps(mode) for mode in _OF_ALL_MODES), Observations(STANDSTILLS))
    window_steps: ClassVar[int] = 100
    recovers_after: ClassVar[int] = 5

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks at the steps of every worker."""
        record_standstills(window, state.of("standstills"))
        is_alone = len(window.attempt.ranks) == 1
        for mode in _OF_ALL_MODES if self.mode is None else (self.mode,):
            for table in window.steps(mode):
                mode_state = state.of("modes", mode, table.worker)
                if self.is_classic:
                    yield from self._classic(table, mode_state)
                    continue
                seconds, is_usable = self._take(table, mode_state)
                if len(mode_state["recent"]) < LIMITS.min_steps:
                    continue
                if mode == Mode.TRAIN:
                    standstills_state = state.of("standstills")
                    for pause in find_pauses(
                        table, seconds, is_usable, mode_state, standstills_state
                    ):
                        is_usable &= table.steps != pause.step
                        if is_alone or not pause.is_waiting:
                            yield self._paused(pause)
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
        which = np.flatnonzero(seconds > limit)
        if len(which) > self.n_outliers:
            steps = np.array(state["steps"])[which]
            yield self.finding(
                f"{len(which)} {table.mode} steps of worker {table.worker} took longer than "
                f"{limit:.3g} s (mean: {seconds.mean():.3g} s).",
                step=(int(steps.min()), int(steps.max())),
                worker=table.worker,
                subject=f"{table.mode}/{table.worker}",
                evidence={
                    "count": len(which),
                    "limit_seconds": limit,
                    "mean_seconds": float(seconds.mean()),
                    "steps": [float(table) for table in steps[-_MAX_LISTED:]],
                },
            )

    def _take(self, table: StepTable, state: State) -> tuple[FloatArray, BoolArray]:
        """How long steps took, and which of them tell what is usual; both are remembered."""
        count = state.get("seen", 0)
        state["seen"] = count + len(table.steps)
        is_usable = ~(table.is_profiled | table.is_skipped | has_rollout(table))
        is_usable[: max(0, LIMITS.settling_steps - count)] = False
        seconds = _own_seconds(table)
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
        is_long = _alone(
            is_usable & (seconds > self._limit(ordered, typical, LIMITS.quartile_power))
        )
        longer = _alone(
            is_usable & (seconds > self._limit(ordered, typical, LIMITS.regular_quartile_power))
        )
        long_steps = state.setdefault("longer", [])
        long_steps += zip(table.steps[longer].tolist(), seconds[longer].tolist(), strict=True)
        del long_steps[: -LIMITS.max_remembered]
        regular = _regular_limit(long_steps)
        if regular is not None:
            is_long = longer & (seconds > regular)
        if not is_long.any():
            return
        outliers = _Outliers.of(table, seconds, is_usable, is_long, typical)
        self._remember(window, table, outliers, state)
        if state["count"] > self.n_outliers and state["lost"] > _least_loss(state):
            yield self._finding(table, outliers, state)

    def _paused(self, pause: Pause) -> Finding:
        where = f" in {pause.line}" if pause.line else f", mostly in {pause.phase}"
        return self.finding(
            f"Step {pause.step} of worker {pause.worker} took {pause.seconds:.3g} s{where} "
            f"(median: {pause.median:.3g} s), {100 * pause.share:.0f}% of the training time so "
            "far.",
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

    def _limit(self, ordered: FloatArray, value: float, quarters: float) -> float:
        """How long a step may take; steps of all lengths may take longer, unless it is given."""
        deviation = robust_deviation(ordered, value)
        factor = LIMITS.min_factor
        if "stddev" not in self.explicit_parameters:
            quarter = quantile_of(ordered, 0.75) / max(value, _MIN_SECONDS)
            factor = max(factor, min(quarter, LIMITS.max_quartile_ratio) ** quarters)
        return max(value + self.stddev * deviation, factor * value)

    def _remember(
        self, window: Window, table: StepTable, outliers: _Outliers, state: State
    ) -> None:
        state["count"] = state.get("count", 0) + len(outliers.steps)
        state["asked"] = state.get("asked", 0) + outliers.with_evaluation
        lost = float((outliers.seconds - outliers.median).sum())
        state["lost"] = state.get("lost", 0.0) + lost
        state["steps"] = (state.get("steps", []) + outliers.steps.tolist())[-_MAX_LISTED:]
        phases = state.of("phases")
        for phase, seconds in outliers.by_phase.items():
            phases[phase] = phases.get(phase, 0.0) + seconds
        state["usual_phases"] = outliers.usual_by_phase
        machine = state.of("machine")
        for metric, inside, outside in _machine(window, table, outliers.steps):
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
            f"the median of {outliers.median:.3g} s{every}, most of it in {phase}. "
            f"This costs {share:.1f}% of the training time.",
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
                "steps": [float(table) for table in state["steps"]],
                **{f"{name} (outliers, others)": pair for name, pair in machine.items()},
            },
        )


def _least_loss(state: State) -> float:
    """The minimum cost of outliers, in seconds, for a finding."""
    total = state["total"]
    if not _has_a_phase(state):
        return float(max(LIMITS.min_seconds, LIMITS.min_lost_share_no_phase * total))
    minimum = max(LIMITS.min_seconds, LIMITS.min_lost_share * total)
    is_meant = _worst_phase(state) in _MEANT or 2 * state["asked"] > state["count"]
    if is_meant or _period(state["steps"]) is None:
        return float(minimum)
    return float(min(minimum, max(LIMITS.regular_seconds, LIMITS.regular_lost_share * total)))


def _worst_phase(state: State) -> str:
    """The phase in which most of the time was lost."""
    phases = state.of("phases")
    return max(phases, key=lambda name: float(phases[name])) if phases else ""


def _has_a_phase(state: State) -> bool:
    """Whether one phase has a larger part of the time lost than of a usual step."""
    lost, typical = state.of("phases"), state["usual_phases"]
    total, usual_total = sum(lost.values()) or 1.0, sum(typical.values()) or 1.0
    return any(
        lost[phase] / total - typical.get(phase, 0.0) / usual_total > LIMITS.phase_excess_share
        for phase in lost
    )


def _alone(is_long: BoolArray) -> BoolArray:
    """Without long runs of them: a training that has become slower has no outliers."""
    if not is_long.any():
        return is_long
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_long, [False])).astype(np.int8)))
    isolated = is_long.copy()
    for first, end in edges.reshape(-1, 2).tolist():
        if end - first >= LIMITS.max_run:
            isolated[first:end] = False
    return isolated


def _own_seconds(table: StepTable) -> FloatArray:
    """What steps take without what is done on purpose now and then."""
    deliberate = sum((table.phases_ns[item] for item in _DELIBERATE), np.zeros(len(table.steps)))
    return np.asarray((table.durations_ns - deliberate) / NANOSECONDS)


def _machine(
    window: Window, table: StepTable, steps: npt.NDArray[np.int64]
) -> Iterator[tuple[str, float, float]]:
    """What the machine did during the outliers, and during the other steps."""
    starts_ns, ends_ns = table.starts_ns, table.ends_ns
    is_outlier = np.isin(table.steps, steps)
    for metric in _METRICS:
        samples = [samples for samples in window.system(metric) if "core" not in samples.device]
        times_ns = np.concatenate(
            [sample.times_ns for sample in samples] or [np.empty(0, np.int64)]
        )
        values = np.concatenate([sample.values for sample in samples] or [np.empty(0, np.float32)])
        indices = np.searchsorted(starts_ns, times_ns, side="right") - 1
        is_in = (indices >= 0) & (times_ns < ends_ns[np.maximum(indices, 0)])
        inside = values[is_in & is_outlier[np.maximum(indices, 0)]]
        outside = values[is_in & ~is_outlier[np.maximum(indices, 0)]]
        if len(inside) and len(outside):
            yield metric, float(inside.mean()), float(outside.mean())


def _period(steps: Sequence[int]) -> int | None:
    """The number of steps between outliers, where it is nearly always the same.

    One may be missing, and one may come in between by chance.
    """
    gaps = np.diff(np.array(steps))
    if len(gaps) < LIMITS.min_gaps:
        return None
    typical = int(np.median(gaps))
    if typical <= 1 or float(np.mean(gaps == typical)) < LIMITS.even_share:
        return None
    in_time = np.bincount(np.array(steps) % typical).max() / len(steps)
    return typical if in_time >= LIMITS.in_phase_share else None


def _regular_limit(long_steps: Sequence[tuple[int, float]]) -> float | None:
    """The minimum duration of long steps that recur every N steps; None if none do.

    They have similar durations, and take longer than most random outliers.
    """
    if not long_steps:
        return None
    limit = median_of(sorted(seconds for _, seconds in long_steps)[len(long_steps) // 2 :]) / 2
    return limit if _period([step for step, seconds in long_steps if seconds > limit]) else None
