"""Findings as episodes: when they begin, and when recurrences are merged."""

import json
from collections.abc import Callable, Iterator

import pytest

from sonde.engine.runner import Recorder, Runner
from sonde.engine.saved_progress import Progress
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.read.window import Window
from sonde.records.finding import Episode, Finding, Setting
from sonde.records.need import Losses, Metric
from sonde.rules import Rule
from sonde.rules._rule import State
from tests.fakes.job import FakeJob
from tests.fakes.training import with_losses


class TooLarge(Rule):
    """Reports a loss above 1 in a window of ten steps."""

    needs = (Losses(),)
    window_steps = 10

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        for curve in window.losses():
            if float(curve.values.mean()) > 1:
                yield self.finding("above one", subject="loss")


class SaysSo(TooLarge):
    """The same rule, which also reports when its finding is resolved."""

    recovers_after = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        result = list(super().check(window, state))
        yield from result or [self.recovered("loss")]


class Hot(Rule):
    """Reports a hot machine."""

    needs = (Metric("cpu.utilization_percent"),)
    window_steps = None
    window_seconds = 10.0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        for samples in window.system("cpu.utilization_percent"):
            if float(samples.values.mean()) > 50:
                yield self.finding("hot", node=samples.node)


def episodes(job: FakeJob, rule: Rule, cuts: int = 1) -> tuple[Episode, ...]:
    progress = Progress()
    for _ in range(cuts):
        runner = Runner(JobData(OpenJob(job.backend, job.clock)), [rule], progress)
        runner.advance()
        progress = runner.progress
    return runner.evaluations[0].episodes


def losses(level: Callable[[int], bool], windows: int) -> list[float]:
    """Return losses above or below 1 in each window of ten steps."""
    return [2.0 if level(step // 10) else 0.5 for step in range(10 * windows)]


@pytest.mark.parametrize("rule", [TooLarge(), SaysSo()])
@pytest.mark.parametrize("period", [2, 3, 4])
def test_a_value_that_oscillates_around_a_threshold_is_one_episode(rule: Rule, period: int) -> None:
    job = with_losses(losses(lambda window: window % period == 0, 40))
    [episode] = episodes(job, rule)
    assert episode.triggered == 40 / period or episode.triggered == 40 // period + 1
    assert (episode.first_step, episode.last_step) == (0, 10 * ((39 // period) * period) + 9)


@pytest.mark.parametrize("rule", [TooLarge(), SaysSo()])
def test_a_finding_that_returns_after_a_long_pause_is_a_new_episode(rule: Rule) -> None:
    job = with_losses(losses(lambda window: window in (2, 12), 20))
    first, second = episodes(job, rule)
    assert (first.first_step, second.first_step) == (20, 120)
    assert not first.is_open
    assert not second.is_open


def test_with_the_classic_setting_every_recurrence_is_an_episode() -> None:
    job = with_losses(losses(lambda window: window % 2 == 0, 10))
    assert len(episodes(job, SaysSo(setting=Setting.CLASSIC))) == 5


def test_the_length_of_a_pause_survives_a_restart() -> None:
    job = with_losses(losses(lambda window: window in (2, 5), 20))
    for _ in range(2):
        recorder = Recorder(job.backend, job.clock, [SaysSo()])
        recorder.advance()
    [evaluation] = recorder.runner.evaluations
    assert [episode.triggered for episode in evaluation.episodes] == [2]


def late(steps: int, is_bad: Callable[[int], bool]) -> FakeJob:
    """Return a job whose training begins a minute after its start."""
    job = FakeJob()
    worker = job.worker()
    job.clock.advance(60.0)
    for step in range(steps):
        worker.scalar("loss", step, 2.0 if is_bad(step) else 0.5)
        worker.step(step, {"forward": 0.5})
    worker.flush()
    return job.end()


def test_a_finding_begins_with_its_first_step_and_not_with_the_job() -> None:
    job = late(30, lambda _: True)
    start_ns = job.job().facts.start_ns or 0
    [episode] = episodes(job, TooLarge())
    assert (episode.first_ns - start_ns) / 1e9 == pytest.approx(60.0)
    assert (episode.last_ns - start_ns) / 1e9 == pytest.approx(75.0)


def test_steps_of_earlier_windows_have_their_own_time() -> None:
    class Since(TooLarge):
        """Reports the first step."""

        def check(self, window: Window, state: State) -> Iterator[Finding]:
            if window.is_last:
                yield self.finding("since then", step=(4, 7), subject="loss")
            list(super().check(window, state))

    job = late(40, lambda _: True)
    start_ns = job.job().facts.start_ns or 0
    [episode] = episodes(job, Since())
    assert (episode.first_ns - start_ns) / 1e9 == pytest.approx(62.0)
    assert (episode.last_ns - start_ns) / 1e9 == pytest.approx(64.0)


def test_a_finding_about_a_machine_begins_with_its_first_sample() -> None:
    job = FakeJob()
    start_ns = job.clock.now_ns()
    job.clock.advance(4.0)
    job.record({"cpu.utilization_percent": [90.0] * 40})
    [episode] = episodes(job.end(), Hot())
    assert (episode.first_ns - start_ns) / 1e9 == pytest.approx(4.0)


def test_a_finding_says_whether_it_is_open_or_when_it_was_resolved() -> None:
    job = with_losses(losses(lambda window: window == 2, 20))
    Recorder(job.backend, job.clock, [TooLarge()]).advance()
    [finding] = job.job().summary["rules"][0]["findings"]
    assert finding["outcome"] == "resolved at step 30"
    open_job = with_losses(losses(lambda window: window > 2, 5))
    Recorder(open_job.backend, open_job.clock, [TooLarge()]).advance()
    [finding] = open_job.job().summary["rules"][0]["findings"]
    assert (finding["outcome"], json.dumps(finding["step"])) == ("ongoing", "[30, 49]")
