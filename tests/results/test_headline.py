"""The headline of a job: figures that say how it is doing."""

from dataclasses import replace

import pytest

from sonde.charts.metrics import Metrics
from sonde.records.finding import (
    Episode,
    Evaluation,
    Finding,
    RuleStatus,
    Setting,
    Severity,
)
from sonde.records.step import MAX_STEPS
from sonde.results.headline import Figure, headline
from sonde.results.live import Observer
from tests.fakes.job import FakeJob

PHASES = {"data_wait": 0.1, "forward": 0.2, "backward": 0.2}
GPU = "gpu.utilization_percent"
CPU = "cpu.utilization_percent"


def figures_of(job: FakeJob) -> dict[str, Figure]:
    return {figure.name: figure for figure in headline(job.job())}


def trained(steps: int = 40, losses: list[float] | None = None, total: int = 0) -> FakeJob:
    """A job with steps of half a second."""
    job = FakeJob()
    worker = job.worker()
    if total:
        worker.scalar(MAX_STEPS, 0, total)
    for step in range(steps):
        if losses is not None:
            worker.scalar("loss", step, losses[step])
        worker.step(step, PHASES)
    worker.beat(0.1, 20.0).flush()
    return job


def test_progress_of_a_running_job_has_the_share_and_the_time_left() -> None:
    progress = figures_of(trained(total=100).beat())["progress"]
    assert (progress.value, progress.unit) == (40.0, "percent")
    assert progress.note == "step 40 of 100, 30 s left"


def test_without_the_number_of_steps_to_train_there_is_no_time_left() -> None:
    progress = figures_of(trained().end())["progress"]
    assert (progress.title, progress.value) == ("Training steps", 40)
    assert "left" not in progress.note


def test_a_wrong_number_of_steps_to_train_is_ignored() -> None:
    assert figures_of(trained(total=20).beat())["progress"].title == "Training steps"


def test_a_finished_job_has_no_time_left() -> None:
    assert figures_of(trained(total=100).end())["progress"].note == "step 40 of 100"


def test_throughput_is_that_of_the_last_minute_while_the_job_runs() -> None:
    job = trained(200)
    worker = job.worker()
    for step in range(200, 260):
        worker.step(step, {"forward": 1.0})
    worker.beat(0.1, 20.0).flush()
    running = figures_of(job.beat())["throughput"]
    assert running.value == pytest.approx(1.0, rel=0.02)
    assert running.note == "last minute; 1.62 steps/s on average"
    over = figures_of(job.end())["throughput"]
    assert over.value == pytest.approx(260 / 160)
    assert over.text == "1.62 steps/s"


@pytest.mark.parametrize(
    ("losses", "trend"),
    [
        ([2.0 - 0.02 * step + 0.01 * (step % 3) for step in range(60)], "falling, step 59"),
        ([1.0 + 0.02 * step + 0.01 * (step % 3) for step in range(60)], "rising, step 59"),
        ([1.0 + 0.1 * (step % 3) for step in range(60)], "flat, step 59"),
        ([1.0, 0.9, 0.8], "step 2"),
    ],
)
def test_loss_has_its_trend(losses: list[float], trend: str) -> None:
    loss = figures_of(trained(len(losses), losses).end())["loss"]
    assert loss.value == pytest.approx(losses[-1])
    assert loss.note == trend
    assert len(loss.curve) == min(40, len(losses))


def test_a_loss_that_is_not_finite_is_critical() -> None:
    loss = figures_of(trained(10, [1.0] * 9 + [float("nan")]).end())["loss"]
    assert (loss.value, loss.tone) == ("not finite", "critical")


def test_idle_gpus_are_counted_not_averaged_away() -> None:
    curves = {f"{GPU}/gpu{number}": [96.0 if number == 3 else 0.0] * 20 for number in range(8)}
    figures = figures_of(FakeJob().record(curves).end())
    assert figures["utilization"].value == pytest.approx(12.0)
    assert figures["utilization"].note == "1 of 8 GPUs busy"
    assert figures["utilization"].tone == "warning"
    assert figures["cost"].value == pytest.approx(8 * 10 / 3600)
    assert figures["cost"].note == "8 GPUs for 10 s"


def test_without_gpus_the_share_of_the_job_is_shown_next_to_the_machine() -> None:
    curves = {CPU: [100.0] * 20, f"{CPU}/cpu0": [100.0] * 20, f"{CPU}/cpu1": [100.0] * 20}
    job = FakeJob().record({**curves, "process_tree.cpu_percent": [30.0] * 20}).end()
    figures = figures_of(job)
    assert figures["utilization"].text == "100%"
    assert figures["utilization"].note == "the job uses 0.3 of 2 cores"
    assert figures["cost"].title == "Core hours"


def test_a_job_without_training_has_no_training_figures() -> None:
    figures = figures_of(FakeJob().record({CPU: [50.0] * 20}).end())
    assert set(figures) == {"utilization"}


def episode(rule: str, lost_seconds: float | None, severity: Severity) -> Episode:
    evidence = {} if lost_seconds is None else {"lost_seconds": lost_seconds}
    finding = Finding(rule, severity, "message", evidence=evidence)
    return Episode(f"{rule}:1", finding, 0, 1, triggered=1)


def test_lost_time_is_that_of_the_most_expensive_finding() -> None:
    job = trained().end().job()
    episodes = (
        episode("DeadRelu", None, Severity.CRITICAL),
        episode("StepOutlier", 2.5, Severity.INFO),
        episode("DataLoaderStarvation", 7.5, Severity.WARNING),
    )
    rule = Evaluation("any", Setting.CALIBRATED, RuleStatus.ISSUES_FOUND, {}, episodes=episodes)
    judged = job.with_judgement(replace(job.judgement(), evaluations=(rule,)))
    lost = {figure.name: figure for figure in headline(judged)}["lost"]
    assert (lost.text, lost.note) == ("7.5 s", "DataLoaderStarvation")
    assert (lost.finding, lost.tone) == ("DataLoaderStarvation:1", "warning")


def test_without_findings_the_wait_for_data_is_shown() -> None:
    lost = figures_of(trained().end())["lost"]
    assert (lost.value, lost.note) == ("none found", "data wait: 20% of step time")


def test_the_number_of_steps_to_train_is_not_drawn_as_a_metric() -> None:
    job = trained(total=100).end().job()
    assert Metrics().build(job) is None


def test_live_view_has_the_headline_and_the_verdict_of_the_dashboard() -> None:
    job = trained(total=100).beat()
    now = Observer(job.backend, job.clock).poll()
    assert now.headline == headline(job.job())
    assert now.sentence == ""  # no rules have run
    assert now.document()["headline"][0]["note"] == "step 40 of 100, 30 s left"


def test_headline_of_the_live_view_is_read_again_after_a_while() -> None:
    job = trained(total=100).beat()
    observer = Observer(job.backend, job.clock)
    before = observer.poll().headline
    worker = job.worker()
    worker.step(40, PHASES).flush()
    assert observer.poll().headline is before
    job.clock.advance(60)
    assert observer.poll().headline != before
