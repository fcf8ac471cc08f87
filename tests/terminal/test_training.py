"""Steps, losses and phases in `sonde status` and `sonde watch`."""

import pytest

from sonde.formats import format_duration
from sonde.records.job import JobState
from sonde.records.notice import Notice, NoticeKind
from sonde.records.profile import ProfileKind, RunningWindow
from sonde.records.worker import WorkerBeat
from sonde.terminal.status import status_lines
from sonde.terminal.watch import frame
from tests.fakes.evaluations import evaluate
from tests.fakes.job import FakeJob
from tests.results.machines import beat, end, machine, poll, record


def trained() -> FakeJob:
    job = record("", machine())
    worker = job.worker(device="cuda:0", versions={"torch": "2.13.0"})
    for step in range(4):
        worker.scalar("loss", step, 4.0 - step)
        worker.span("tokenize", 0.0, 0.01, step, "user")
        worker.step(step, {"data_wait": 0.05, "forward": 0.2, "backward": 0.2}, rest=0.05)
    worker.step(0, {"forward": 1.0}, mode="eval").scalar("loss", 0, 2.0, "eval")
    worker.beat(0.01, 2.0).flush()
    return job


def shown(job: FakeJob) -> list[str]:
    return [line.plain for line in status_lines(job.job().summary)]


def test_status_shows_steps_stages_loss_and_overhead() -> None:
    job = trained()
    end(job, JobState.COMPLETED, None, 0)
    lines = shown(job)
    assert "workers        1 (torch 2.13.0 on cuda:0)" in lines
    assert any(line.startswith("stages         initialization 20 s") for line in lines)
    steps = "4 train, 1 eval; 500 ms per train step (mean 500 ms, p95 500 ms)"
    assert f"steps          {steps}" in lines
    assert "last loss      1 (train, step 3), 2 (eval, step 0)" in lines
    assert any("0.5% of step time" in line for line in lines)


def test_status_shows_active_and_finished_profiles() -> None:
    job = trained()
    detail = '{"steps":[1,3],"by":"plan","cost_seconds":0.25}'
    worker = job.worker(restart=1)
    worker.span("python", -2.0, 1.0, 1, "window", lane="profile", detail=detail).flush()
    worker.step(4, {"forward": 0.2}).flush()
    window = RunningWindow(ProfileKind.OPERATORS, 5, 14, job.clock.now_ns(), "alice")
    worker.document("beat", WorkerBeat(job.clock.now_ns(), {"train": 5}, 0, 0, 1, 0, window=window))
    lines = shown(job)

    assert "profiling      operators steps 5–14" in lines
    assert "profiles       python steps 1–3 (profiler overhead 250 ms)" in lines
    assert job.job().summary["profiling"][0]["by"] == "alice"
    observed = [line.plain for line in frame(poll(job), 100)]
    assert any(line.startswith("Profile") and "operators steps 5–14" in line for line in observed)
    worker.document("beat", WorkerBeat(job.clock.now_ns(), {"train": 5}, 0, 0, 1, 0))
    assert job.job().summary["profiling"] == []


def test_losses_of_several_optimizers_are_listed_separately() -> None:
    job = record("", machine())
    worker = job.worker()
    for step in range(2):
        worker.scalar("loss/0", step, 0.5).scalar("loss/1", step, 1.5)
        worker.step(step, {"forward": 0.2})
    worker.beat(0.01, 2.0).flush()
    lines = shown(job)
    assert "last loss      0.5 (train, loss/0, step 1), 1.5 (train, loss/1, step 1)" in lines
    beat(job, job.node)
    assert any(line.plain.endswith("loss/0 0.5   loss/1 1.5") for line in frame(poll(job), 100))


def test_status_shows_step_time_by_phase() -> None:
    lines = shown(trained())
    first = lines.index("step time           train     eval")
    table = [line[:34].rstrip() for line in lines[first + 1 : first + 6]]
    assert table == [
        "data_wait            8.0%",
        "forward             40.0%   100.0%",
        "backward            40.0%",
        "between             10.0%",
        "tokenize             2.0%",
    ]


def test_status_of_a_job_without_training_has_no_training_rows() -> None:
    lines = shown(record("", machine()))
    assert not any(line.startswith(("steps", "stages", "workers", "step time")) for line in lines)


def test_stages_are_unknown_if_training_steps_were_lost() -> None:
    job = trained()
    start_ns = job.clock.now_ns()
    loss = Notice(NoticeKind.LOST_STEPS, "worker 0: events", "disk full", start_ns, start_ns + 1)
    job.writer.report_lost(loss)
    job.flush()
    end(job, JobState.COMPLETED, None, 0)
    assert "stages         unknown, because data was lost" in shown(job)


def test_watching_shows_steps_and_phases() -> None:
    job = trained()
    beat(job, job.node)
    lines = [line.plain for line in frame(poll(job), 100)]
    assert "Steps    4 train, 1 eval   500 ms per step   loss 1" in lines
    assert any(line.startswith("Phases   data_wait 8.0%   forward 40%") for line in lines)
    assert poll(job).document()["steps"] == {"train": 4, "eval": 1}
    narrow = [line.plain for line in frame(poll(job), 50)]
    assert narrow[narrow.index("Phases   data_wait 8.0%   forward 40%") :][:3] == [
        "Phases   data_wait 8.0%   forward 40%",
        "         backward 40%   between 10%",
        "         tokenize 2.0%",
    ]


def test_watch_counts_steps_after_the_last_heartbeat() -> None:
    job = trained()
    job.worker().step(4, {"forward": 0.5}).scalar("loss", 4, 0.25).flush()
    beat(job, job.node)
    lines = [line.plain for line in frame(poll(job), 100)]
    assert "Steps    5 train, 1 eval   500 ms per step   loss 0.25" in lines


def test_only_the_first_line_of_an_exception_is_the_verdict() -> None:
    job = trained()
    job.worker(1).fail("RuntimeError: one\nand two")
    first, *rest = shown(job.fail())
    assert first.endswith(": RuntimeError: one")
    assert "and two" in rest


def changed_often() -> FakeJob:
    job = trained()
    worker = job.worker().notice("compiled regions", "no hooks")
    for number in range(10):
        job.clock.advance(1)
        worker.writer.notice(NoticeKind.CHANGED, "statistics", f"every {number} steps")
    worker.flush()
    return job


def test_repeated_notices_take_one_line_of_the_status() -> None:
    job = changed_often()
    notes = [line.split(maxsplit=2)[2] for line in shown(job) if line.startswith("note ")]
    assert notes == ["statistics: every 9 steps (last of 10 similar notices)"]
    assert len(job.job().summary["notices"]) == 10


def test_frequent_notices_do_not_hide_missing_data() -> None:
    job = changed_often()
    beat(job, job.node)
    lines = [line.plain for line in frame(poll(job), 100)]
    assert "not recorded: compiled regions: no hooks" in lines


def test_first_failed_worker_is_named() -> None:
    job = trained()
    job.worker(1).fail("RuntimeError: one")
    assert "failed first   worker 1" in shown(job.fail())


def test_single_worker_is_not_named() -> None:
    job = trained()
    job.worker().fail("RuntimeError: one")
    assert not any(line.startswith("failed first") for line in shown(job.fail()))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(90, "1 min 30 s"), (2.5, "2.5 s"), (0.0123, "12.3 ms"), (0.00001, "10 µs")],
)
def test_short_times_use_a_suitable_unit(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_status_shows_the_last_result_of_each_evaluation() -> None:
    job = trained()
    worker = job.worker()
    for step, loss in ((2, 0.75), (4, 0.5)):
        evaluate(worker, "train (evaluated)", step, loss / 2, samples=1200)
        evaluate(worker, "validation", step, loss)
    worker.flush()
    end(job, JobState.COMPLETED, None, 0)
    lines = shown(job)
    assert "last loss      1 (train, step 3)" in lines
    results = "train (evaluated) 0.25 (step 4, 1,200 samples), validation 0.5 (step 4, 100 samples)"
    assert f"evaluations    {results}" in lines
