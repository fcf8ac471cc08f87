"""Who works through a recorded job: this process, several of this machine, or a cluster.

An engine is `map(function, parts)` and nothing else. Rules are shared out, each part reads what it
needs, and what they say is put together afterwards: the same as if one had asked them all.
"""

import importlib
import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from sonde.clock import SystemClock
from sonde.engine.garbage_collection import collect_rarely
from sonde.engine.runner import Runner
from sonde.errors import MissingExtraError
from sonde.read.causes import linked
from sonde.read.job_data import JobData
from sonde.records.finding import Evaluation
from sonde.rules import Rule
from sonde.rules._selection import select_rules
from sonde.settings import RulesSettings
from sonde.store.backends import Backend, open_backend

# To start a process takes about a second: a job of fewer bytes is done before.
_WORTH_BYTES = 16 * 1024 * 1024
_MOST_PROCESSES = 8


class ExecutorKind(StrEnum):
    """Where rules are asked about recorded data."""

    LOCAL = "local"  # on this machine, on as many cores as it is worth
    RAY = "ray"  # on a cluster of Ray that is there, or one of this machine


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """Which rules are asked, in a form that any process can read."""

    names: tuple[str, ...]
    settings: RulesSettings
    given: Mapping[str, Mapping[str, object]]

    def rules(self) -> list[Rule]:
        """Build the selected rules."""
        return select_rules(self.names, self.settings, self.given)


@dataclass(frozen=True, slots=True)
class Share:
    """Of all rules that are asked about a job, every so many-th."""

    job_uri: str
    selection: RuleSelection
    number: int
    of: int


RunShare = Callable[[Share], tuple[Evaluation, ...]]


class Executor(Protocol):
    """Something that does several things at once."""

    size: int  # how many

    def map(self, function: RunShare, shares: Sequence[Share]) -> list[tuple[Evaluation, ...]]:
        """What the function says to each, in their order."""


class Local:
    """Processes of this machine."""

    def __init__(self, size: int) -> None:
        self.size = size

    def map(self, function: RunShare, shares: Sequence[Share]) -> list[tuple[Evaluation, ...]]:
        """One after the other where there is one; else each in a process of its own."""
        if len(shares) == 1:
            return [function(shares[0])]
        # forked, they would hold locks of threads that they do not have
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(len(shares), context, collect_rarely) as pool:
            return list(pool.map(function, shares))


class Ray:
    """A cluster; without an address, one of this machine."""

    def __init__(self) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise MissingExtraError(
                "--engine ray needs Ray. Install it with: pip install 'sonde[ray]'"
            ) from error
        if not self._ray.is_initialized():
            self._ray.init(log_to_driver=False)
        self.size = max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def map(self, function: RunShare, shares: Sequence[Share]) -> list[tuple[Evaluation, ...]]:
        """Each wherever there is room."""
        remote = self._ray.remote(function)
        found: list[tuple[Evaluation, ...]] = self._ray.get([remote.remote(one) for one in shares])
        return found


def executor_for(kind: ExecutorKind, backend: Backend) -> Executor:
    """The engine, as large as the job is worth."""
    if kind is ExecutorKind.RAY:
        return Ray()
    stored = sum(entry.size for entry in backend.entries(""))
    worth = 1 + stored // _WORTH_BYTES
    return Local(min(worth, len(os.sched_getaffinity(0)), _MOST_PROCESSES))


def run_selection(
    engine: Executor, job_uri: str, selection: RuleSelection, rules: int
) -> tuple[Evaluation, ...]:
    """What rules say about a job.

    Args:
        engine: Who asks them.
        job_uri: The job, as every process of the engine finds it.
        selection: Which rules.
        rules: How many these are.
    """
    parts = max(1, min(engine.size, rules))
    shares = [Share(job_uri, selection, number, parts) for number in range(parts)]
    found: list[Evaluation | None] = [None] * rules
    for number, evaluations in enumerate(engine.map(run_share, shares)):
        found[number::parts] = evaluations
    return linked([one for one in found if one is not None])


def run_share(share: Share) -> tuple[Evaluation, ...]:
    """What the rules of one share say; runs in a process of its own."""
    every = share.selection.rules()
    data = JobData(open_backend(share.job_uri), SystemClock())
    runner = Runner(data, every[share.number :: share.of])
    runner.advance()
    return runner.standings
