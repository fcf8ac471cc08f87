"""StepOutlier: some steps take far longer than the others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from sonde.analyze.robust import middle_of, quantile_of
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.read.workers import Marks
from sonde.records.finding import Finding
from sonde.records.need import Observations, Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Mode, Phase
from sonde.rules._parameters import Count, Positive
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import has_rollout
from sonde.rules.steps._pauses import STANDING, Pause, note_standstills, pauses_of

Seconds = npt.NDArray[np.float64]

_SETTLING_STEPS = 10  # compilation, warm caches, the first batches
_RECENT = 400  # steps that tell what is usual
_LEAST = 50
_LEAST_FACTOR = 1.5  # what is not half as long again costs nothing
_QUARTERS = 6.0  # times as far out as the third quarter begins, in ratios: four deviations
_QUARTERS_OF_REGULAR = 3.0  # the same of those that come every so many steps
_LEAST_LOSS = 0.02  # of the time of all steps
_LEAST_LOSS_EVERYWHERE = 0.1  # where it comes in all phases alike, as others on a machine make it
_MORE_THAN_USUAL = 0.3  # of the time lost, beyond its share: that phase is to blame
_LEAST_SECONDS = 5.0  # lost in all: less is nobody's trouble
# Unless a short job loses much to something that comes every so many steps, as no neighbour does.
_REGULAR_SECONDS = 1.0
_REGULAR_LOSS = 0.1
_COMPUTING = (Phase.FORWARD.value, Phase.BACKWARD.value, Phase.OPTIMIZER.value)
_MEANT = (*_COMPUTING, Phase.COLLECTIVE.value)  # every so many steps: workers that meet seldom
_DELIBERATE = (Phase.EVALUATION.value, Phase.CHECKPOINT.value)
_NORMAL = 1.4826  # standard deviations of a normal distribution in its median deviation
_LONGEST_RUN = 8
_SHORTEST = 1e-9  # seconds
_WIDEST = 2.0  # more than a quarter of the steps takes twice as long: such is this training
_NAMED = 20
_LEAST_GAPS = 4
_LEAST_EVEN = 0.6  # of the gaps, and
_LEAST_IN_TIME = 0.8  # of the steps, that are where a period wants them
_LONGER = 40  # steps that are remembered, to see whether some come every so many steps
_METRICS = ("cpu.utilization_percent", "cpu.iowait_percent", "gpu.utilization_percent")
_OF_ALL_MODES = (Mode.TRAIN.value, Mode.EVAL.value)


@dataclass(frozen=True)
class _Outliers:
    """The outliers of one worker in one window."""

    steps: npt.NDArray[np.int64]
    seconds: Seconds
    usual: float
    by_phase: dict[str, float]  # seconds above the usual, added up
    usual_by_phase: dict[str, float]  # seconds of a usual step
    asked: int  # how many have an evaluation inside: what goes with it is meant

    @classmethod
    def of(
        cls, table: StepTable, seconds: Seconds, is_usable: Marks, is_long: Marks, usual: float
    ) -> Self:
        """Those steps of a table, and where their time goes."""
        by_phase, usual_by_phase = {}, {}
        for phase, spent_ns in table.phases_ns.items():
            if phase not in _DELIBERATE and is_usable.any():
                usual_ns = middle_of(spent_ns[is_usable])
                usual_by_phase[phase] = usual_ns / NANOSECONDS
                excess = spent_ns[is_long] - usual_ns
                by_phase[phase] = float(np.maximum(excess, 0).sum()) / NANOSECONDS
        asked = int((table.phases_ns[Phase.EVALUATION.value][is_long] > 0).sum())
        steps = table.steps[is_long]
        return cls(steps, seconds[is_long], usual, by_phase, usual_by_phase, asked)


class StepOutlier(Rule):
    """Some steps take far longer than the others.

    Why it matters: with several workers everybody waits for the slowest step, and rare long steps
    often point to something that can be moved out of the way.
    How it decides: a step is long if it exceeds the median of the last 400 by half and by `stddev`
    robust standard deviations. It fires when more than `n_outliers` long steps cost 5 seconds and
    2% of the time (10% where no phase stands out; 1 second and 10% if they come every N steps); or
    when one step takes 5 seconds, 300 times the median and 10% of the time. Evaluation,
    checkpoints, rollouts, profiled steps and the first 10 steps do not count. Classic: more than
    `n_outliers` steps are longer than mean + `stddev` standard deviations.
    What to do: look at what happens in the phase that is named: loading (more loader workers,
    smaller shards), logging or saving every so many steps, garbage collection, a busy neighbour.
    """

    stddev: Positive = 3.0
    n_outliers: Count = 10
    mode: Literal["train", "eval", "predict"] | None = None

    needs = (*(Steps(mode) for mode in _OF_ALL_MODES), Observations(STANDING))
    window_steps: ClassVar[int] = 100
    recovers_after: ClassVar[int] = 5

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks at the steps of every worker."""
        note_standstills(window, state.of("standstills"))
        is_alone = len(window.leg.ranks) == 1
        for mode in _OF_ALL_MODES if self.mode is None else (self.mode,):
            for table in window.steps(mode):
                own = state.of("modes", mode, table.worker)
                if self.is_classic:
                    yield from self._classic(table, own)
                    continue
                seconds, is_usable = self._take(table, own)
                if len(own["recent"]) < _LEAST:
                    continue
                if mode == Mode.TRAIN:
                    known = state.of("standstills")
                    for pause in pauses_of(table, seconds, is_usable, own, known):
                        is_usable &= table.steps != pause.step
                        if is_alone or not pause.is_waiting:
                            yield self._paused(pause)
                yield from self._calibrated(window, table, seconds, is_usable, own)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        if self.is_classic:
            return ""
        counts = [
            own.get("seen", 0) for modes in state.of("modes").values() for own in modes.values()
        ]
        seen = max(counts, default=0)
        needed = _SETTLING_STEPS + _LEAST
        return "" if seen >= needed else Shortfall(seen, needed, DataUnit.STEPS)

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
                f"{limit:.3g} s; the mean is {seconds.mean():.3g} s.",
                step=(int(steps.min()), int(steps.max())),
                worker=table.worker,
                subject=f"{table.mode}/{table.worker}",
                evidence={
                    "count": len(which),
                    "limit_seconds": limit,
                    "mean_seconds": float(seconds.mean()),
                    "steps": [float(one) for one in steps[-_NAMED:]],
                },
            )

    def _take(self, table: StepTable, state: State) -> tuple[Seconds, Marks]:
        """How long steps took, and which of them tell what is usual; both are remembered."""
        seen = state.get("seen", 0)
        state["seen"] = seen + len(table.steps)
        is_usable = ~(table.is_profiled | table.is_skipped | has_rollout(table))
        is_usable[: max(0, _SETTLING_STEPS - seen)] = False
        seconds = _own_seconds(table)
        recent = (state.get("recent", []) + seconds[is_usable].tolist())[-_RECENT:]
        state["recent"] = recent
        state["total"] = state.get("total", 0.0) + float(seconds[is_usable].sum())
        return seconds, is_usable

    def _calibrated(
        self,
        window: Window,
        table: StepTable,
        seconds: Seconds,
        is_usable: Marks,
        state: State,
    ) -> Iterator[Finding]:
        ordered = np.sort(np.array(state["recent"]))
        usual = max(middle_of(ordered), middle_of(seconds))
        is_long = _alone(is_usable & (seconds > self._limit(ordered, usual, _QUARTERS)))
        longer = _alone(is_usable & (seconds > self._limit(ordered, usual, _QUARTERS_OF_REGULAR)))
        known = state.setdefault("longer", [])
        known += zip(table.steps[longer].tolist(), seconds[longer].tolist(), strict=True)
        del known[:-_LONGER]
        regular = _regular_limit(known)
        if regular is not None:
            is_long = longer & (seconds > regular)
        if not is_long.any():
            return
        outliers = _Outliers.of(table, seconds, is_usable, is_long, usual)
        self._remember(window, table, outliers, state)
        if state["count"] > self.n_outliers and state["lost"] > _least_loss(state):
            yield self._found(table, outliers, state)

    def _paused(self, pause: Pause) -> Finding:
        where = f" in {pause.line}" if pause.line else f", most of it in {pause.phase}"
        return self.finding(
            f"Step {pause.step} of worker {pause.worker} took {pause.seconds:.3g} s{where}; the "
            f"usual step takes {pause.usual:.3g} s. That is {100 * pause.share:.0f}% of the "
            "training time so far.",
            step=pause.step,
            worker=pause.worker,
            subject=f"pause/{pause.worker}",
            evidence={
                "usual_seconds": pause.usual,
                "lost_seconds": pause.seconds - pause.usual,
                "lost_percent": 100 * pause.share,
                "phase": pause.phase,
                "line": pause.line,
                "steps": [float(pause.step)],
            },
        )

    def _limit(self, ordered: Seconds, usual: float, quarters: float) -> float:
        """How long a step may take; steps of all lengths may take longer, unless it is given."""
        deviation = _NORMAL * middle_of(np.abs(ordered - usual))
        factor = _LEAST_FACTOR
        if "stddev" not in self.given:
            quarter = quantile_of(ordered, 0.75) / max(usual, _SHORTEST)
            factor = max(factor, min(quarter, _WIDEST) ** quarters)
        return max(usual + self.stddev * deviation, factor * usual)

    def _remember(
        self, window: Window, table: StepTable, outliers: _Outliers, state: State
    ) -> None:
        state["count"] = state.get("count", 0) + len(outliers.steps)
        state["asked"] = state.get("asked", 0) + outliers.asked
        lost = float((outliers.seconds - outliers.usual).sum())
        state["lost"] = state.get("lost", 0.0) + lost
        state["steps"] = (state.get("steps", []) + outliers.steps.tolist())[-_NAMED:]
        phases = state.of("phases")
        for phase, seconds in outliers.by_phase.items():
            phases[phase] = phases.get(phase, 0.0) + seconds
        state["usual_phases"] = outliers.usual_by_phase
        machine = state.of("machine")
        for metric, inside, outside in _machine(window, table, outliers.steps):
            known = machine.get(metric, [0.0, 0.0, 0])
            machine[metric] = [known[0] + inside, known[1] + outside, known[2] + 1]

    def _found(self, table: StepTable, outliers: _Outliers, state: State) -> Finding:
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
            f"the usual {outliers.usual:.3g} s{every}; most of it in {phase}. "
            f"That costs {share:.1f} % of the time.",
            step=(int(outliers.steps[0]), int(outliers.steps[-1])),
            worker=table.worker,
            subject=f"{table.mode}/{table.worker}",
            evidence={
                "count": state["count"],
                "usual_seconds": outliers.usual,
                "lost_seconds": state["lost"],
                "lost_percent": share,
                "phase": phase,
                "period_steps": period,
                "steps": [float(one) for one in state["steps"]],
                **{f"{name} (outliers, others)": pair for name, pair in machine.items()},
            },
        )


def _least_loss(state: State) -> float:
    """The seconds that outliers must have cost, so that somebody is told."""
    total = state["total"]
    if not _has_a_phase(state):
        return float(max(_LEAST_SECONDS, _LEAST_LOSS_EVERYWHERE * total))
    least = max(_LEAST_SECONDS, _LEAST_LOSS * total)
    is_meant = _worst_phase(state) in _MEANT or 2 * state["asked"] > state["count"]
    if is_meant or _period(state["steps"]) is None:
        return float(least)
    return float(min(least, max(_REGULAR_SECONDS, _REGULAR_LOSS * total)))


def _worst_phase(state: State) -> str:
    """The phase in which most of the time was lost."""
    phases = state.of("phases")
    return max(phases, key=lambda name: float(phases[name])) if phases else ""


def _has_a_phase(state: State) -> bool:
    """Whether one phase has a larger part of the time lost than of a usual step."""
    lost, usual = state.of("phases"), state["usual_phases"]
    whole, whole_usual = sum(lost.values()) or 1.0, sum(usual.values()) or 1.0
    return any(
        lost[phase] / whole - usual.get(phase, 0.0) / whole_usual > _MORE_THAN_USUAL
        for phase in lost
    )


def _alone(is_long: Marks) -> Marks:
    """Without long runs of them: a training that has become slower has no outliers."""
    if not is_long.any():
        return is_long
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_long, [False])).astype(np.int8)))
    kept = is_long.copy()
    for first, end in edges.reshape(-1, 2).tolist():
        if end - first >= _LONGEST_RUN:
            kept[first:end] = False
    return kept


def _own_seconds(table: StepTable) -> Seconds:
    """What steps take without what is done on purpose now and then."""
    deliberate = sum((table.phases_ns[one] for one in _DELIBERATE), np.zeros(len(table.steps)))
    return np.asarray((table.durations_ns - deliberate) / NANOSECONDS)


def _machine(
    window: Window, table: StepTable, steps: npt.NDArray[np.int64]
) -> Iterator[tuple[str, float, float]]:
    """What the machine did during the outliers, and during the other steps."""
    starts_ns, ends_ns = table.starts_ns, table.ends_ns
    is_outlier = np.isin(table.steps, steps)
    for metric in _METRICS:
        samples = [one for one in window.system(metric) if "core" not in one.device]
        times_ns = np.concatenate([one.times_ns for one in samples] or [np.empty(0, np.int64)])
        values = np.concatenate([one.values for one in samples] or [np.empty(0, np.float32)])
        places = np.searchsorted(starts_ns, times_ns, side="right") - 1
        is_in = (places >= 0) & (times_ns < ends_ns[np.maximum(places, 0)])
        inside = values[is_in & is_outlier[np.maximum(places, 0)]]
        outside = values[is_in & ~is_outlier[np.maximum(places, 0)]]
        if len(inside) and len(outside):
            yield metric, float(inside.mean()), float(outside.mean())


def _period(steps: Sequence[int]) -> int | None:
    """The number of steps between outliers, where it is nearly always the same.

    One may be missing, and one may come in between by chance.
    """
    gaps = np.diff(np.array(steps))
    if len(gaps) < _LEAST_GAPS:
        return None
    usual = int(np.median(gaps))
    if usual <= 1 or float(np.mean(gaps == usual)) < _LEAST_EVEN:
        return None
    in_time = np.bincount(np.array(steps) % usual).max() / len(steps)
    return usual if in_time >= _LEAST_IN_TIME else None


def _regular_limit(known: Sequence[tuple[int, float]]) -> float | None:
    """What those take at least that come every so many steps; None where none do.

    They take about as long as each other, and longer than most that come by chance.
    """
    if not known:
        return None
    limit = middle_of(sorted(seconds for _, seconds in known)[len(known) // 2 :]) / 2
    return limit if _period([step for step, seconds in known if seconds > limit]) else None
