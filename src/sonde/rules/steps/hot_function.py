"""HotFunction: one function of the script takes a large part of every step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.hot_functions import HotFunction as Hot
from sonde.analyze.hot_functions import hot_function
from sonde.analyze.python_profile import NodeTimes
from sonde.analyze.speedups import upper_bound
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent
from sonde.read.python_profiles import ReadProfile, read_python_profiles
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.advice import Bottleneck, Improvement, Remedy
from sonde.records.finding import Finding, Severity
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import NO_STEP, Mode
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.contention import core_share


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of HotFunction.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_samples: int = 10  # the profiler samples every 5 ms
    sigmas: float = 1.0  # standard errors of the measured share
    min_seconds: float = 0.002  # per step
    warning_seconds: float = 0.005  # per step
    written_after_seconds: float = 30.0  # after the profiled steps, the profile is in the store
    busy_share: float = 0.5  # of the step; a device this busy is what the function waits for
    warning_percent: float = 50.0  # of the step


LIMITS = Calibration()


class HotFunction(Rule):
    """One Python function outside the framework takes a large share of each step.

    Why it matters: The device waits while Python runs, and a single function is easy to make
    faster.
    How it decides:
    - In a Python profile (steps 9 to 11 by default, up to step 38 if they are short), one function
      of the script, with what it calls outside the framework, takes more than `threshold` percent
      of the steps and 2 ms per step.
    - Needs 10 profile samples, and allows for one standard error.
    - A warning from 50% and 5 ms per step; otherwise `info`. If cores are contended, only the share
      in which the job had a core counts.
    - Model layers, functions that call the model, its backward pass or its optimizer do not count.
      Not applied if the device is busy for half of the step.
    What to do: Look at the reported line: vectorize it, cache it, move it to the loader processes,
    or run it less often. `sonde python JOB` shows the rest.
    """

    threshold: Percent = 30.0

    section = Section.SPEED
    calibration = LIMITS
    needs = (Steps(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = (
        *("DataLoaderStarvation", "LowGPUUtilization", "CPUBottleneck", "StepOutlier"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Check the Python profiles that were written since the last check."""
        for table in window.steps():
            worker_state = state.of("workers", table.worker)
            if table.is_profiled.any():
                worker_state["until_ns"] = int(table.ends_ns[table.is_profiled].max())
                worker_state["is_busy"] = _is_busy(table)
                worker_state["core"] = core_share(window, table)
            is_due = (
                window.end_ns
                > worker_state.get("until_ns", 0) + LIMITS.written_after_seconds * NANOSECONDS
            )
            if worker_state.get("until_ns") and (is_due or window.is_last):
                yield from self._judge(window, table.worker, worker_state)
                worker_state["seen_ns"], worker_state["until_ns"] = worker_state["until_ns"], 0

    def unfit(self, state: State) -> str:
        """No Python profile was recorded."""
        has_profile = any("looks" in worker for worker in state.of("workers").values())
        return "" if has_profile else "no Python profile was recorded"

    def lacks(self, state: State) -> str | Shortfall:
        """How many profile samples are missing."""
        count = max((worker.get("looks", 0) for worker in state.of("workers").values()), default=0)
        needed = LIMITS.min_samples
        return "" if count >= needed else Shortfall(count, needed, DataUnit.PROFILE_SAMPLES)

    def _judge(self, window: Window, worker: int, state: State) -> Iterator[Finding]:
        since_ns, until_ns = state.get("seen_ns", 0), state["until_ns"]
        profiles = [
            profile
            for profile in read_python_profiles(window.data.worker(worker), [])
            if since_ns < profile.profile.start_ns <= until_ns
        ]
        node_times = [_training_amounts(profile) for profile in profiles]
        steps = sum(mode == Mode.TRAIN for profile in profiles for mode, _ in profile.steps)
        if profiles:
            state["looks"] = state.get("looks", 0) + int(
                sum(amount.counts.sum() for amount in node_times)
            )
        if not steps or state["looks"] < LIMITS.min_samples or state.get("is_busy"):
            return
        result = hot_function(node_times, self.threshold / 100)
        if result is None or result.seconds / steps * state.get("core", 1.0) < LIMITS.min_seconds:
            return
        error = float(np.sqrt(result.share * (1 - result.share) / state["looks"]))
        if result.share - LIMITS.sigmas * error >= self.threshold / 100:
            yield self._finding(result, profiles, steps, worker, state.get("core", 1.0))

    def _finding(
        self, hot: Hot, profiles: Sequence[ReadProfile], steps: int, worker: int, core: float
    ) -> Finding:
        percent, per_step = 100 * hot.share, hot.seconds / steps
        is_significant = (
            percent >= LIMITS.warning_percent and per_step * core >= LIMITS.warning_seconds
        )
        numbers = [
            step for profile in profiles for mode, step in profile.steps if mode == Mode.TRAIN
        ]
        return self.finding(
            f"{hot.name} ({hot.file}:{hot.line}) takes {format_percent(percent)} of each step "
            f"({format_duration(per_step)}) outside the framework.",
            severity=Severity.WARNING if is_significant else Severity.INFO,
            step=(min(numbers), max(numbers)),
            worker=worker,
            subject=f"{worker}/{hot.name}",
            improvement=_improvement(hot, per_step),
            evidence={
                "function": hot.name,
                "file": hot.file,
                "line": hot.line,
                "lost_percent": percent,
                "seconds_per_step_to_win": per_step,
            },
        )


def _improvement(hot: Hot, per_step: float) -> Improvement:
    reason = (
        f"the function takes {format_duration(per_step)} per step; the gain depends on how much "
        "of that a faster version saves."
    )
    gain = upper_bound(1.0, hot.share, reason)
    place = f"{hot.name} ({hot.file}:{hot.line})"
    return Improvement(Bottleneck.PYTHON, (Remedy(f"a faster {hot.name}", "", gain),), (place,))


def _training_amounts(profile: ReadProfile) -> NodeTimes:
    """Return the samples of the training thread within training steps."""
    node_times = NodeTimes.of(profile.profile)
    is_training = np.array(
        [moment.mode == Mode.TRAIN and moment.step != NO_STEP for moment in profile.moments],
        dtype=np.bool_,
    )
    return node_times.take((node_times.threads == 0) & is_training[profile.times[node_times.times]])


def _is_busy(table: StepTable) -> bool:
    """Whether a device was busy for a large share of the profiled steps."""
    seconds = table.durations_ns[table.is_profiled] / NANOSECONDS
    devices = [values[table.is_profiled] for values in table.device_seconds.values()]
    busy_seconds = (
        np.sum([np.nan_to_num(device) for device in devices], axis=0) if devices else 0.0 * seconds
    )
    return bool(np.median(busy_seconds / np.maximum(seconds, 1e-9)) >= LIMITS.busy_share)
