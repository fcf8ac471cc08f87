"""Recommend a number of loader processes, for rules, commands and pages alike.

The time to prepare the data of a step follows from the waits: if steps wait for data, the loader
processes are assumed to be busy all the time, unless a profile measured less.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil

import numpy as np
import numpy.typing as npt

from sonde.analyze.durations import time_percent
from sonde.analyze.outliers import loading_outliers
from sonde.formats import format_duration
from sonde.records.loading import LoaderFacts, LoaderHost

WAITS_TOO_LONG_PERCENT = 10.0

_COMPUTES_PERCENT = 50.0  # CPU time, as a share of the time to prepare a batch
_FREE_CORES = 0.5  # with fewer, waiting for a core looks like waiting for a disk
_WAITING_PER_CORE = 4
_RESERVE = 1.1  # factor on the minimum number of loader processes


class Limit(StrEnum):
    """What limits the number of useful loader processes."""

    NOTHING = "nothing"  # the recommended number keeps up
    CORES = "cores"  # loader processes compute, and there are no cores for more
    DATASET = "dataset"  # the data set waits, for example for a disk or a network


@dataclass(frozen=True, slots=True)
class ProcessAdvice:
    """The recommended number of loader processes, and why."""

    needed: int  # to prepare data as quickly as steps use it
    advised: int  # `needed`, limited by the cores
    limit: Limit
    text: str


@dataclass(frozen=True, slots=True)
class Loading:
    """The known speed of preparing and using data."""

    facts: LoaderFacts
    wait: float  # seconds of a step
    step: float  # seconds of a step without its waits
    host: LoaderHost = field(default_factory=LoaderHost)
    measured: float | None = None  # seconds of one process for the data of a step
    cpu_percent: float | None = None  # CPU time, of that

    @property
    def keeps_up(self) -> bool:
        """Whether typical steps spend little time waiting.

        First batches and outliers do not count, as more processes would not help. They do count in
        the data wait that is shown, `LoaderRecord.waited_percent`.
        """
        return time_percent(self.wait, self.wait + self.step) < WAITS_TOO_LONG_PERCENT

    @property
    def preparation(self) -> float:
        """Seconds that one process takes to prepare the data of a step."""
        processes = self.facts.processes
        if not processes:
            return self.wait  # the training process prepares it
        maximum = (self.wait + self.step) * processes
        return maximum if self.measured is None else min(self.measured, maximum)

    @property
    def needed(self) -> int:
        """Loader processes that prepare data as quickly as steps use it, with a reserve."""
        result = max(1, ceil(_RESERVE * self.preparation / self.step))
        return min(result, self.facts.processes) if self.keeps_up else result

    @property
    def cores(self) -> int:
        """The cores that one worker of the job may use."""
        return max(1, min(self.facts.cores, self._cores_of_all // self.host.workers))

    @property
    def max_processes(self) -> int:
        """The maximum number of loader processes for the available cores."""
        return self.cores * (_WAITING_PER_CORE if self.is_waiting else 1)

    @property
    def is_waiting(self) -> bool:
        """Whether loader processes mostly wait, which needs memory but no core.

        False if no core was free: waiting for a core looks the same.
        """
        free = self._free_cores
        is_little = self.cpu_percent is not None and self.cpu_percent < _COMPUTES_PERCENT
        return is_little and free is not None and free >= _FREE_CORES

    @property
    def _cores_of_all(self) -> int:
        host_cores = self.host.cores
        return self.facts.cores if host_cores is None else max(1, int(host_cores))

    @property
    def _free_cores(self) -> float | None:
        """The number of idle cores; None if it was not measured."""
        host, cores = self.host, self._cores_of_all
        job_percent = None if host.job_percent is None else host.job_percent / cores
        busy_percents = [value for value in (host.busy_percent, job_percent) if value is not None]
        return cores * (1 - max(busy_percents) / 100) if busy_percents else None


def step_with(loading: Loading, processes: int, *, shares_cores: bool) -> tuple[float, ...]:
    """Return the seconds of a step with another number of loader processes.

    The best, the expected and the worst case. At best, preparing and training overlap completely.
    If both need the same cores, the work of both has to fit on them.

    Args:
        loading: The known speed of loading.
        processes: The number of loader processes.
        shares_cores: Whether the steps themselves compute on these cores, and not on a device.
    """
    now = loading.wait + loading.step
    best = max(loading.step, loading.preparation / max(1, processes))
    if loading.is_waiting or not shares_cores:
        return min(now, best), min(now, best), min(now, _RESERVE * best)
    # steps may use all cores already
    worst = max(best, loading.step + loading.preparation / max(loading.cores, 1))
    return min(now, best), min(now, (best + worst) / 2), min(now, worst)


def typical_wait(seconds: npt.ArrayLike) -> float:
    """Return the mean of waits without outliers."""
    values = np.asarray(seconds, dtype=np.float64)
    typical = np.delete(values, loading_outliers(values))
    return float(typical.mean()) if len(typical) else 0.0


def typical_step(seconds: npt.ArrayLike) -> float:
    """Return the median of step durations without waits; 0 if there are none."""
    values = np.asarray(seconds, dtype=np.float64)
    return float(np.median(values)) if len(values) else 0.0


def advise_processes(loading: Loading) -> ProcessAdvice | None:
    """Recommend a number of loader processes; None if steps take no time."""
    if loading.step <= 0:
        return None
    processes, needed, maximum = loading.facts.processes, loading.needed, loading.max_processes
    bottleneck = Limit.DATASET if loading.is_waiting else Limit.CORES
    if processes > maximum:
        return ProcessAdvice(needed, maximum, bottleneck, _fewer(loading))
    if loading.keeps_up:
        return ProcessAdvice(needed, processes, Limit.NOTHING, "Data loading keeps up.")
    if processes >= needed:
        return ProcessAdvice(needed, processes, Limit.NOTHING, _transfer_bound(processes))
    advised = min(needed, maximum)
    limit = Limit.NOTHING if advised == needed else bottleneck
    return ProcessAdvice(needed, advised, limit, _more(loading, advised, limit))


def _fewer(loading: Loading) -> str:
    processes = _processes(loading.facts.processes).capitalize()
    advice = f"num_workers={loading.max_processes} is enough"
    return f"{processes} share {_cores(loading.cores)}: {advice}."


def _transfer_bound(processes: int) -> str:
    verb = "prepares" if processes == 1 else "prepare"
    return (
        f"Its {_processes(processes)} {verb} batches quickly enough. The time is spent on "
        "transferring them to the training process, or other processes occupy the cores. Batches "
        "that consist of fewer and simpler objects transfer faster."
    )


def _more(loading: Loading, advised: int, limit: Limit) -> str:
    processes = loading.facts.processes
    now = {0: "the training process prepares it", 1: "one loader process prepares it"}.get(
        processes, f"{processes} loader processes prepare it"
    )
    text = (
        f"Preparing the data of a step takes {format_duration(loading.preparation)}, and a step "
        f"without waiting takes {format_duration(loading.step)}; {now}."
    )
    if advised > processes:
        nearer = {
            Limit.NOTHING: "would keep up",
            Limit.CORES: "would help; also make batches cheaper to prepare",
            Limit.DATASET: "would help; also reduce the time that the data set waits",
        }[limit]
        return f"{text} {_processes(advised).capitalize()} (num_workers={advised}) {nearer}."
    cores = _cores(loading.cores)
    way_out = {
        Limit.CORES: f"there {'is' if loading.cores == 1 else 'are'} only {cores}: make batches "
        "cheaper to prepare, or prepare them before training",
        Limit.DATASET: f"that is too many for {cores}: reduce the time that the data set waits, "
        "with larger reads or faster storage",
    }[limit]
    return f"{text} {_processes(loading.needed).capitalize()} would keep up, but {way_out}."


def _cores(count: int) -> str:
    return "one core" if count == 1 else f"{count} cores"


def _processes(count: int) -> str:
    return "one loader process" if count == 1 else f"{count} loader processes"
