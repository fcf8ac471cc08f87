"""Rules with short windows skip windows without relevant events."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.engine.runner import Runner
from sonde.read.event_queries import EventWindows
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations, Steps
from sonde.rules import Rule
from sonde.rules._rule import State
from tests.fakes.job import FakeJob


class Listens(Rule):
    """Reports observations."""

    needs = (Observations("said"),)
    window_steps: ClassVar[int] = 2
    skips_quiet: ClassVar[bool] = True

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        state.setdefault("shown", []).append(window.first_step)
        for item in window.observations("said"):
            yield self.finding("It was said.", step=item.step)

    def summary(self, state: State) -> dict[str, list[float]]:
        return {"shown": state.get("shown", [])}


def trained(*texts: int, steps: int = 120) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        if step in texts:
            worker.observation("said", "model", step)
        worker.step(step, {"forward": 0.1})
        if step == 80:
            worker.step(0, {"forward": 0.1}, mode="eval")
    worker.flush()
    return job.end()


def shown(job: FakeJob) -> object:
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), [Listens()])
    runner.advance()
    [evaluation] = runner.evaluations
    return evaluation.summary["shown"]


def test_windows_with_events_and_the_next_ones_are_evaluated() -> None:
    # one window in fifty steps and the last one are always evaluated
    assert shown(trained(7, 62)) == [0, 6, 8, 50, 62, 64, 100, 118]


def test_events_after_the_last_step_belong_to_the_last_window() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(5):
        worker.step(step, {"forward": 0.1})
    worker.observation("said", "model", 5).flush()
    assert shown(job.end()) == [0, 4]


def test_an_evaluation_is_relevant_to_rules_that_need_its_steps() -> None:
    job = trained(7)
    data = JobData(OpenJob(job.backend, job.clock))
    indices = EventWindows(data, data.attempts[0], 2, (Steps("eval"),))
    assert [index for index in range(60) if index in indices] == [0, 25, 40, 41, 50]
