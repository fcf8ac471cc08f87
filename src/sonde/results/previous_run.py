"""How the speed of a run compares with the previous run of the same script."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from sonde.formats import format_percent
from sonde.records.job_summary import ListedJob

_MIN_PERCENT = 10.0  # of the step time; less is usual noise between runs on one machine


@dataclass(frozen=True, slots=True)
class SpeedChange:
    """The change of the median step time since the previous run; positive if slower."""

    previous: str
    percent: float

    @property
    def text(self) -> str:
        """The change as text."""
        word = "slower" if self.percent > 0 else "faster"
        return f"{format_percent(abs(self.percent))} {word} than {self.previous}"


class PreviousRuns:
    """The runs of each script, in order of their start."""

    def __init__(self, jobs: Iterable[ListedJob]) -> None:
        self._runs: dict[tuple[str, int], list[ListedJob]] = {}
        for job in sorted(jobs, key=_start):
            if job.summary.step_seconds and job.summary.launch.script:
                self._runs.setdefault(_kind(job), []).append(job)

    def change_of(self, job: ListedJob) -> SpeedChange | None:
        """Compare a run with the last earlier run of its script on as many workers.

        None if there is no such run, or if the difference is small.
        """
        seconds, runs = job.summary.step_seconds, self._runs.get(_kind(job), [])
        index = bisect_left(runs, _start(job), key=_start)
        if not seconds or index == 0:
            return None
        previous = runs[index - 1]
        before = previous.summary.step_seconds or seconds
        percent = 100 * (seconds - before) / before
        return SpeedChange(previous.name, percent) if abs(percent) >= _MIN_PERCENT else None


def _kind(job: ListedJob) -> tuple[str, int]:
    return job.summary.launch.script, job.summary.launch.workers


def _start(job: ListedJob) -> str:
    return job.summary.outcome.start_time or ""
