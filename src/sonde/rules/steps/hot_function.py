"""HotFunction: one function of the script takes a large part of every step."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from sonde.analyze.hot_functions import HotFunction as Hot
from sonde.analyze.hot_functions import hot_function
from sonde.analyze.python_profile import Amounts
from sonde.clock import NANOSECONDS
from sonde.read.python_profiles import ReadProfile, read_python_profiles
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import NO_STEP, Mode
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, State
from sonde.rules.steps._own_work import share_of_a_core

_LEAST_LOOKS = 10  # a function that never waits lets nobody look more often than every 5 ms
_SIGMAS = 1.0  # of what few looks tell
_LEAST_SECONDS = 0.002  # of a step
_FELT_SECONDS = 0.005  # of a step: less is told, and nobody is warned
_WRITTEN_SECONDS = 30.0  # so long after its window a profile is in the store at the latest
_BUSY = 0.5  # of the step: then the function only waits for the device
_MOSTLY = 50.0  # percent


class HotFunction(Rule):
    """One Python function outside of the framework takes a large share of each step.

    Why it matters: the device waits while Python works, and one function is easily made faster.
    How it decides: from profiles of Python (steps 9 to 11 unless told otherwise, and up to 38 where
    they are short): one function of the script, with what it calls outside of the framework, takes
    more than `threshold` percent of the steps and 2 ms of each. It is a warning from 50 percent and
    5 ms on; on a busy machine the time that the job had a core for counts. Layers of the model, and
    functions that call the model, its backward pass or its optimizer do not count; nor does
    anything while the device is busy for half of the step: who waits for it seems to work.
    What to do: look at the line that is named: vectorize it, cache it, do it in the loader's
    processes, or not at every step. `sonde python JOB` shows the rest.
    """

    threshold: Percent = 30.0

    needs = (Steps(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = (
        *("DataLoaderStarvation", "LowGPUUtilization", "CPUBottleneck", "StepOutlier"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks at the profiles of Python that have come since the last window."""
        for table in window.steps():
            own = state.of("workers", table.worker)
            if table.is_profiled.any():
                own["until_ns"] = int(table.ends_ns[table.is_profiled].max())
                own["is_busy"] = _is_busy(table)
                own["core"] = share_of_a_core(window, table)
            is_due = window.end_ns > own.get("until_ns", 0) + _WRITTEN_SECONDS * NANOSECONDS
            if own.get("until_ns") and (is_due or window.is_last):
                yield from self._judge(window, table.worker, own)
                own["seen_ns"], own["until_ns"] = own["until_ns"], 0

    def unfit(self, state: State) -> str:
        """Jobs of which nobody has profiled the Python."""
        is_seen = any(one.get("looks") is not None for one in state.of("workers").values())
        return "" if is_seen else "Python was not profiled"

    def lacks(self, state: State) -> str | Shortfall:
        """How often one must have looked."""
        looks = max((one.get("looks", 0) for one in state.of("workers").values()), default=0)
        needed = _LEAST_LOOKS
        return "" if looks >= needed else Shortfall(looks, needed, DataUnit.PROFILE_SAMPLES)

    def _judge(self, window: Window, worker: int, state: State) -> Iterator[Finding]:
        since_ns, until_ns = state.get("seen_ns", 0), state["until_ns"]
        profiles = [
            one
            for one in read_python_profiles(window.data.worker(worker), [])
            if since_ns < one.profile.start_ns <= until_ns
        ]
        parts = [_of_training(one) for one in profiles]
        steps = sum(mode == Mode.TRAIN for one in profiles for mode, _ in one.steps)
        if profiles:
            state["looks"] = state.get("looks", 0) + int(sum(one.counts.sum() for one in parts))
        if not steps or state["looks"] < _LEAST_LOOKS or state.get("is_busy"):
            return
        found = hot_function(parts, self.threshold / 100)
        if found is None or found.seconds / steps * state.get("core", 1.0) < _LEAST_SECONDS:
            return
        error = float(np.sqrt(found.share * (1 - found.share) / state["looks"]))
        if found.share - _SIGMAS * error >= self.threshold / 100:
            yield self._found(found, profiles, steps, worker, state.get("core", 1.0))

    def _found(
        self, hot: Hot, profiles: Sequence[ReadProfile], steps: int, worker: int, core: float
    ) -> Finding:
        percent, each = 100 * hot.share, hot.seconds / steps
        is_felt = percent >= _MOSTLY and each * core >= _FELT_SECONDS
        numbers = [step for one in profiles for mode, step in one.steps if mode == Mode.TRAIN]
        return self.finding(
            f"{hot.name} ({hot.file}:{hot.line}) takes {percent:.0f} % of each step, "
            f"{1e3 * each:.3g} ms, outside of the framework.",
            severity=Severity.WARNING if is_felt else Severity.INFO,
            step=(min(numbers), max(numbers)),
            worker=worker,
            subject=f"{worker}/{hot.name}",
            evidence={
                "function": hot.name,
                "file": hot.file,
                "line": hot.line,
                "lost_percent": percent,
                "seconds_per_step_to_win": each,
            },
        )


def _of_training(read: ReadProfile) -> Amounts:
    """What the training thread did inside of training steps."""
    amounts = Amounts.of(read.profile)
    is_training = np.array(
        [one.mode == Mode.TRAIN and one.step != NO_STEP for one in read.moments], dtype=np.bool_
    )
    return amounts.take((amounts.threads == 0) & is_training[read.times[amounts.times]])


def _is_busy(table: StepTable) -> bool:
    """Whether a device worked for most of the steps that were profiled."""
    seconds = table.durations_ns[table.is_profiled] / NANOSECONDS
    devices = [one[table.is_profiled] for one in table.device_seconds.values()]
    worked = np.sum([np.nan_to_num(one) for one in devices], axis=0) if devices else 0.0 * seconds
    return bool(np.median(worked / np.maximum(seconds, 1e-9)) >= _BUSY)
