"""Follow a running job, or wait until it has reached something."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sonde.errors import JobEndedError, UsageError, WaitTimeoutError
from sonde.formats import format_duration
from sonde.read.findings import read_episodes
from sonde.read.open_job import OpenJob
from sonde.records.finding import Episode, Severity
from sonde.records.job import JobState
from sonde.results.findings import plain_name
from sonde.results.news import News, Reporter, Threshold, empty_news
from sonde.store.lease import Leasing

if TYPE_CHECKING:
    from sonde.client.job import Job

_INTERVAL_SECONDS = 0.5
_OVER = "over"
Condition = Callable[["Job"], bool]


class Poller:
    """Polls a job twice a second until it and its rules are done."""

    def __init__(self, job: "Job", opened: OpenJob) -> None:
        self._job = job
        self._opened = opened
        self._clock = opened.clock
        # the lease is held while rules run, which is until some seconds after the end of the job
        self._rules = Leasing(opened.backend, opened.clock, "")

    def news(self, *, from_start: bool) -> Iterator[News]:
        """Yield what the job has added at each poll.

        Args:
            from_start: Begin with everything recorded so far.
        """
        reporter = Reporter(self._opened.backend)
        state = self._job.refresh().state
        recorded = reporter.poll(state, self._opened.workers())
        if from_start or state.is_over:
            yield recorded if from_start else empty_news(state)
        while not (state.is_over and self._rules.is_free()):
            self._pause()
            before, state = state, self._job.refresh().state
            news = reporter.poll(state, self._opened.workers())
            if news or state is not before:
                yield news

    def wait_for(
        self, condition: Condition | None, goals: Mapping[str, object], timeout: float | None
    ) -> None:
        """Wait until a condition holds.

        Args:
            condition: A function of the job, or None.
            goals: State, step, metric and finding to wait for; None for no condition.
            timeout: In seconds; None for no limit.
        """
        named = {name: goal for name, goal in goals.items() if goal is not None}
        if len(named) + (condition is not None) != 1:
            names = ", ".join(("condition", *goals))
            raise UsageError(f"wait_for() requires exactly one of: {names}")
        text = ", ".join(f"{name} {goal}" for name, goal in named.items()) or "the condition"
        condition_holds = condition or self._condition(*next(iter(named.items())))
        self._wait(condition_holds, text, timeout, needs_rules="finding" in named)

    def _wait(
        self, condition_holds: Condition, text: str, timeout: float | None, *, needs_rules: bool
    ) -> None:
        job = self._job
        deadline = None if timeout is None else self._clock.seconds() + timeout
        is_done = False  # as of before the last poll, so that the last findings are not missed
        while not condition_holds(job.refresh()):
            if is_done:
                raise JobEndedError(
                    f"Job {job.name!r} is {job.state.value} and did not reach {text}."
                )
            if deadline is not None and self._clock.seconds() >= deadline:
                raise WaitTimeoutError(
                    f"Job {job.name!r} did not reach {text} within {format_duration(timeout)}."
                )
            is_done = job.state.is_over and (not needs_rules or self._rules.is_free())
            if not is_done:
                self._pause()

    def _condition(self, kind: str, goal: object) -> Condition:
        if kind == "state":
            return _is_in_state(str(goal))
        if kind == "step":
            first = int(str(goal))
            return lambda job: len(job.steps(start_step=first)) > 0
        if kind == "metric":
            threshold = Threshold.parse(str(goal))
            return lambda job: any(map(threshold.holds, _latest(job, threshold.name)))
        backend = self._opened.backend
        return lambda _job: _has_finding(read_episodes(backend, []), str(goal))

    def _pause(self) -> None:
        self._clock.wait(threading.Event(), _INTERVAL_SECONDS)


def _is_in_state(state: str) -> Condition:
    states = [each.value for each in JobState]
    if state not in (_OVER, *states):
        raise UsageError(f"Unknown state {state!r}. Available: {_OVER}, {', '.join(states)}")
    return lambda job: job.state.is_over if state == _OVER else job.state.value == state


def _latest(job: "Job", name: str) -> Iterator[float]:
    """The last value of a scalar, or of each series of a machine metric."""
    values = job.scalars(name).reduced().to_arrow()["value"]
    if len(values):
        yield float(values[-1].as_py())
        return
    for _, samples in job.system(name).by_device().values():
        measured = samples[~np.isnan(samples)]
        if len(measured):
            yield float(measured[-1])


def _has_finding(episodes: Sequence[Episode], goal: str) -> bool:
    if goal in tuple(Severity):
        return any(episode.severity.rank >= Severity(goal).rank for episode in episodes)
    return any(plain_name(episode.finding.rule) == plain_name(goal) for episode in episodes)
