"""What a job answers to who stays with it: news, conditions, and other jobs beside it."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from sonde.client.comparison import JobComparison
from sonde.client.findings import plain_name
from sonde.client.news import News, Reporter, Threshold, nothing_new
from sonde.clock import Clock
from sonde.errors import JobOverError, UsageError, WaitedTooLongError
from sonde.read.findings import read_episodes
from sonde.read.workers import WorkerReader
from sonde.records.finding import Episode, Severity
from sonde.records.job import JobState
from sonde.store.backends import Backend
from sonde.store.lease import Leasing

if TYPE_CHECKING:
    from sonde.client.job import Job

_EVERY_SECONDS = 0.5
_OVER = "over"
Reached = Callable[["Job"], bool]


class Followed(ABC):
    """The half of a job that one stays with."""

    _backend: Backend
    _clock: Clock

    @property
    @abstractmethod
    def name(self) -> str:
        """The job's name."""

    @property
    @abstractmethod
    def state(self) -> JobState:
        """Where it stands."""

    @abstractmethod
    def refresh(self) -> "Job":
        """Looks again."""

    @abstractmethod
    def _workers_of(self, worker: int | str | None) -> tuple[WorkerReader, ...]:
        """Readers of all ranks."""

    def follow(self, *, from_start: bool = False) -> Iterator[News]:
        """What is new in it, at most twice a second, until it and its rules are done.

        Args:
            from_start: Begins with everything that is there already.
        """
        reporter = Reporter(self._backend)
        rules = self._rules()
        known = self.refresh().state
        first = reporter.look(known, self._workers_of(None))
        if from_start or known.is_over:
            yield first if from_start else nothing_new(known)
        while not (known.is_over and rules.is_free()):
            self._pause()
            before, known = known, self.refresh().state
            news = reporter.look(known, self._workers_of(None))
            if news or known is not before:
                yield news

    def wait_for(
        self,
        condition: Reached | None = None,
        *,
        state: str | None = None,
        step: int | None = None,
        metric: str | None = None,
        finding: str | None = None,
        timeout: float | None = None,
    ) -> "Job":
        """Waits until one thing is the case, and returns the job as it is then.

        Args:
            condition: A function of the job.
            state: Such as `running`, or `over` for any end.
            step: Until this training step is finished.
            metric: A scalar or a metric of the machine and a limit, such as `loss < 0.3`.
            finding: A rule's name, or a severity that is reached, such as `critical`.
            timeout: In seconds; without it, as long as it takes.

        Raises:
            JobOverError: The job is over, no rule is still at it, and it has not come to that.
            WaitedTooLongError: It took longer than the timeout.
        """
        wanted = {"state": state, "step": step, "metric": metric, "finding": finding}
        asked = {name: one for name, one in wanted.items() if one is not None}
        if len(asked) + (condition is not None) != 1:
            raise UsageError("wait_for waits for one thing: a condition, state, step, metric …")
        said = ", ".join(f"{name} {one}" for name, one in asked.items()) or "the condition"
        reached = condition or self._condition(*next(iter(asked.items())))
        rules = None if finding is None else self._rules()
        return self._wait(reached, rules, said, timeout)

    def compare(self, *others: "Job") -> JobComparison:
        """This job beside others: what each took, how far it came, and their losses."""
        return JobComparison((cast("Job", self), *others))

    def _condition(self, what: str, wanted: object) -> Reached:
        if what == "state":
            return _stands_at(str(wanted))
        if what == "step":
            first = int(str(wanted))
            return lambda job: len(job.steps(start_step=first)) > 0
        if what == "metric":
            threshold = Threshold.parse(str(wanted))
            return lambda job: any(map(threshold.holds, _latest(job, threshold.name)))
        return lambda _job: _is_found(read_episodes(self._backend, []), str(wanted))

    def _wait(
        self, reached: Reached, rules: Leasing | None, said: str, timeout: float | None
    ) -> "Job":
        until = None if timeout is None else self._clock.seconds() + timeout
        is_done = False  # before the last look: what rules say at the very end is not missed
        while not reached(job := self.refresh()):
            if is_done:
                raise JobOverError(f"Job {self.name!r} is {job.state.value} without {said}.")
            if until is not None and self._clock.seconds() >= until:
                raise WaitedTooLongError(
                    f"Job {self.name!r}: {said} did not come in {timeout:g} s."
                )
            is_done = job.state.is_over and (rules is None or rules.is_free())
            if not is_done:
                self._pause()
        return job

    def _rules(self) -> Leasing:
        """Tells whether somebody still asks rules about it, as they are for some seconds after."""
        return Leasing(self._backend, self._clock, "")

    def _pause(self) -> None:
        self._clock.wait(threading.Event(), _EVERY_SECONDS)


def _stands_at(state: str) -> Reached:
    known = [one.value for one in JobState]
    if state not in (_OVER, *known):
        raise UsageError(f"There is no state {state!r}. Known: {_OVER}, {', '.join(known)}")
    return lambda job: job.state.is_over if state == _OVER else job.state.value == state


def _latest(job: "Job", name: str) -> Iterator[float]:
    """The last value of a scalar, or of each series of a metric of the machine."""
    values = job.scalars(name).reduced().to_arrow()["value"]
    if len(values):
        yield float(values[-1].as_py())
        return
    for _, samples in job.system(name).by_device().values():
        measured = samples[~np.isnan(samples)]
        if len(measured):
            yield float(measured[-1])


def _is_found(found: Sequence[Episode], wanted: str) -> bool:
    if wanted in tuple(Severity):
        return any(one.severity.rank >= Severity(wanted).rank for one in found)
    return any(plain_name(one.finding.rule) == plain_name(wanted) for one in found)
