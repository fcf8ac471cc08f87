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
from sonde.errors import MissingExtraError
from sonde.read.causes import linked
from sonde.read.job_data import JobData
from sonde.records.finding import Evaluation
from sonde.rules._selection import select_rules
from sonde.settings import RulesSettings
from sonde.store.backends import Backend, open_backend
from sonde.watch.garbage import collect_seldom
from sonde.watch.runner import Runner

# To start a process takes about a second: a job of fewer bytes is done before.
_WORTH_BYTES = 16 * 1024 * 1024
_MOST_PROCESSES = 8


class EngineKind(StrEnum):
    """Where rules are asked about recorded data."""

    LOCAL = "local"  # on this machine, on as many cores as it is worth
    RAY = "ray"  # on a cluster of Ray that is there, or one of this machine


@dataclass(frozen=True, slots=True)
class Question:
    """Which rules are asked, in a form that any process can read."""

    names: tuple[str, ...]
    settings: RulesSettings
    given: Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Share:
    """Of all rules that are asked about a job, every so many-th."""

    job_uri: str
    question: Question
    number: int
    of: int


Ask = Callable[[Share], tuple[Evaluation, ...]]


class Engine(Protocol):
    """Something that does several things at once."""

    size: int  # how many

    def map(self, function: Ask, shares: Sequence[Share]) -> list[tuple[Evaluation, ...]]:
        """What the function says to each, in their order."""


class Local:
    """Processes of this machine."""

    def __init__(self, size: int) -> None:
        self.size = size

    def map(self, function: Ask, shares: Sequence[Share]) -> list[tuple[Evaluation, ...]]:
        """One after the other where there is one; else each in a process of its own."""
        if len(shares) == 1:
            return [function(shares[0])]
        # forked, they would hold locks of threads that they do not have
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(len(shares), context, collect_seldom) as pool:
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

    def map(self, function: Ask, shares: Sequence[Share]) -> list[tuple[Evaluation, ...]]:
        """Each wherever there is room."""
        remote = self._ray.remote(function)
        found: list[tuple[Evaluation, ...]] = self._ray.get([remote.remote(one) for one in shares])
        return found


def engine_for(kind: EngineKind, backend: Backend) -> Engine:
    """The engine, as large as the job is worth."""
    if kind is EngineKind.RAY:
        return Ray()
    stored = sum(entry.size for entry in backend.entries(""))
    worth = 1 + stored // _WORTH_BYTES
    return Local(min(worth, len(os.sched_getaffinity(0)), _MOST_PROCESSES))


def ask(engine: Engine, job_uri: str, question: Question, rules: int) -> tuple[Evaluation, ...]:
    """What rules say about a job.

    Args:
        engine: Who asks them.
        job_uri: The job, as every process of the engine finds it.
        question: Which rules.
        rules: How many these are.
    """
    parts = max(1, min(engine.size, rules))
    shares = [Share(job_uri, question, number, parts) for number in range(parts)]
    found: list[Evaluation | None] = [None] * rules
    for number, evaluations in enumerate(engine.map(ask_share, shares)):
        found[number::parts] = evaluations
    return linked([one for one in found if one is not None])


def ask_share(share: Share) -> tuple[Evaluation, ...]:
    """What the rules of one share say; runs in a process of its own."""
    question = share.question
    every = select_rules(question.names, question.settings, question.given)
    data = JobData(open_backend(share.job_uri), SystemClock())
    runner = Runner(data, every[share.number :: share.of])
    runner.advance()
    return runner.standings
