"""Executors that run rules over a recorded job: this process, local processes, or a Ray cluster.

An executor only implements `map`. Rules are divided into shares, each share reads the data it
needs, and the results are merged.
"""

import importlib
import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from sonde.engine.garbage_collection import collect_rarely
from sonde.engine.runner import Runner
from sonde.errors import MissingExtraError
from sonde.read.causes import link_causes
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.records.finding import Evaluation
from sonde.rules import Rule
from sonde.rules._selection import select_rules
from sonde.settings import RulesSettings
from sonde.store.backends import Backend, open_backend

# Starting a process takes about a second, in which a process can evaluate this many bytes.
_BYTES_PER_PROCESS = 16 * 1024 * 1024
_MAX_PROCESSES = 8


class ExecutorKind(StrEnum):
    """Where rules are run over recorded data."""

    LOCAL = "local"  # on this machine, in one or more processes
    RAY = "ray"  # on an existing Ray cluster, or a local one


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """Which rules to run, in a form that can be sent to other processes."""

    names: tuple[str, ...]
    settings: RulesSettings
    parameters: Mapping[str, Mapping[str, object]]

    def rules(self) -> list[Rule]:
        """Build the selected rules."""
        return select_rules(self.names, self.settings, self.parameters)


@dataclass(frozen=True, slots=True)
class Share:
    """Every n-th rule of a selection."""

    job_uri: str
    selection: RuleSelection
    number: int
    of: int


RunShare = Callable[[Share], tuple[Evaluation, ...]]


class Executor(Protocol):
    """Runs shares in parallel."""

    size: int  # the number of shares that run in parallel

    def map(self, function: RunShare, shares: Sequence[Share]) -> list[tuple[Evaluation, ...]]:
        """The results of the function, in order."""


class Local:
    """Processes on this machine."""

    def __init__(self, size: int) -> None:
        self.size = size

    def map(self, function: RunShare, shares: Sequence[Share]) -> list[tuple[Evaluation, ...]]:
        """Run a single share here, several in one process each."""
        if len(shares) == 1:
            return [function(shares[0])]
        # forked processes would inherit locks of threads that do not exist in them
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(len(shares), context, collect_rarely) as pool:
            return list(pool.map(function, shares))


class Ray:
    """A Ray cluster; a local one if no address is configured."""

    def __init__(self) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise MissingExtraError(
                "--engine ray requires Ray. Install it with: pip install 'sonde[ray]'"
            ) from error
        if not self._ray.is_initialized():
            self._ray.init(log_to_driver=False)
        self.size = max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def map(self, function: RunShare, shares: Sequence[Share]) -> list[tuple[Evaluation, ...]]:
        """Run each share as a Ray task."""
        remote = self._ray.remote(function)
        results: list[tuple[Evaluation, ...]] = self._ray.get(
            [remote.remote(share) for share in shares]
        )
        return results


def executor_for(kind: ExecutorKind, backend: Backend) -> Executor:
    """An executor sized for the job."""
    if kind is ExecutorKind.RAY:
        return Ray()
    stored = sum(entry.size for entry in backend.entries(""))
    processes = 1 + stored // _BYTES_PER_PROCESS
    return Local(min(processes, len(os.sched_getaffinity(0)), _MAX_PROCESSES))


def run_selection(
    engine: Executor, job_uri: str, selection: RuleSelection, rules: int
) -> tuple[Evaluation, ...]:
    """Run rules over a job and return their evaluations.

    Args:
        engine: The executor.
        job_uri: The job, as every process can open it.
        selection: The rules.
        rules: The number of rules.
    """
    share_count = max(1, min(engine.size, rules))
    shares = [Share(job_uri, selection, number, share_count) for number in range(share_count)]
    results: list[Evaluation | None] = [None] * rules
    for number, evaluations in enumerate(engine.map(run_share, shares)):
        results[number::share_count] = evaluations
    return link_causes([evaluation for evaluation in results if evaluation is not None])


def run_share(share: Share) -> tuple[Evaluation, ...]:
    """Run the rules of one share, usually in its own process."""
    rules = share.selection.rules()
    data = JobData(OpenJob(open_backend(share.job_uri)))
    runner = Runner(data, rules[share.number :: share.of])
    runner.advance()
    return runner.raw_evaluations
