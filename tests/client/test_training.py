"""Steps, events, scalars, losses and stages of a job in the Python API."""

import pytest

from sonde.errors import UsageError
from tests.fakes.job import FakeJob

PLAIN = {"data_wait": 0.25, "forward": 1.0, "backward": 2.0, "optimizer": 0.5}


def trained(workers: int = 2, steps: int = 4) -> FakeJob:
    """Record steps that take their number plus 4 seconds, with a loss of 10 divided by that."""
    job = FakeJob()
    for rank in range(workers):
        worker = job.worker(rank, world_size=workers)
        for step in range(steps):
            worker.scalar("loss", step, 10 / (step + 1) + rank)
            worker.scalar("loss/root", step, 1.0).scalar("learning_rate/0", step, 0.1)
            worker.step(step, PLAIN, rest=0.25 + step)
        worker.scalar("loss", 0, 3.0, "eval").step(0, {"forward": 1.0}, mode="eval")
        worker.flush()
    return job


def test_steps_are_a_table_with_a_column_per_phase() -> None:
    table = trained().job().steps().to_arrow()
    assert table.column_names == [
        *("worker", "mode", "step", "time", "seconds", "data_wait", "forward", "backward"),
        *("optimizer", "host_to_device", "collective", "checkpoint", "evaluation", "between"),
        *("micro_steps", "skipped", "profiled"),
    ]
    assert table["worker"].to_pylist() == [0] * 4 + [1] * 4
    assert table["seconds"].to_pylist() == [4.0, 5.0, 6.0, 7.0] * 2
    phases = table.column_names[5:14]
    for row in table.to_pylist():
        assert sum(row[phase] for phase in phases) == pytest.approx(row["seconds"])


def test_profiled_steps_do_not_count_in_statistics() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(4):
        worker.step(step, {"forward": 1.0}, rest=1.0)
    worker.step(4, {"forward": 50.0}, profiled="operators").flush()
    steps = job.job().steps()

    assert steps.to_arrow()["profiled"].to_pylist() == [False] * 4 + [True]
    assert steps.slowest(9).to_arrow()["step"].to_pylist() == [0, 1, 2, 3]
    total = steps.statistics().rows[0]
    assert (total.phase, total.mean, total.maximum) == ("seconds", 2.0, 2.0)
    shares = job.job().summary["phases"]["train"]
    assert (shares["steps"], shares["profiled"]) == (5, 1)
    assert shares["seconds"]["maximum"] == 2.0
    assert shares["percent"] == {"forward": 50.0, "between": 50.0}


def test_profiled_steps_count_if_all_steps_were_profiled() -> None:
    job = FakeJob()
    job.worker().step(0, {"forward": 3.0}, profiled="python").flush()

    assert job.job().steps().statistics().rows[0].mean == 3.0


def test_steps_are_chosen_by_mode_worker_and_number() -> None:
    job = trained().job()
    assert len(job.steps("eval")) == 2
    assert len(job.steps(None)) == 10
    assert job.steps(worker=1, start_step=1, end_step=3).to_arrow()["step"].to_pylist() == [1, 2]
    assert len(job.steps("predict")) == 0
    assert "No steps" in repr(job.steps("predict"))


def test_an_unknown_worker_or_mode_lists_the_available_ones() -> None:
    job = trained().job()
    with pytest.raises(UsageError, match=r"no worker 7. Workers: 0, 1"):
        job.steps(worker=7)
    with pytest.raises(UsageError, match=r"Unknown mode 'test'. Available: train, eval, predict"):
        job.steps("test")


def test_the_slowest_steps_come_first() -> None:
    slowest = trained().job().steps(worker=0).slowest(2)
    assert slowest.to_arrow()["step"].to_pylist() == [3, 2]
    assert repr(slowest).splitlines()[0].split()[:4] == ["worker", "mode", "step", "duration"]


def test_statistics_show_where_the_time_goes() -> None:
    rows = {row.phase: row for row in trained(workers=1).job().steps().statistics().rows}
    assert rows["seconds"].percent == pytest.approx(100)
    assert rows["seconds"].p50 == pytest.approx(5.5)
    assert rows["seconds"].maximum == 7.0
    assert rows["backward"].percent == pytest.approx(100 * 8 / 22)
    shares = [row.percent for name, row in rows.items() if name != "seconds"]
    assert sum(shares) == pytest.approx(100)


def test_a_phase_named_like_a_column_gets_its_own_column() -> None:
    job = FakeJob()
    worker = job.worker().span("step", 0.1, 0.5, category="user")
    worker.span("forward", 0.0, 2.0, category="device", lane="cuda:0")
    worker.step(0, {"forward": 1.0}).flush()
    [row] = job.job().steps().to_arrow().to_pylist()
    assert (row["step"], row["phase_step"], row["forward"]) == (0, 0.5, 0.5)
    assert row["device_forward"] == 2.0


def test_steps_print_the_last_ones_and_the_statistics() -> None:
    text = repr(trained().job().steps())
    assert text.startswith("4 train steps of 2 workers; latest:\nworker  mode")
    assert "checkpoint" not in text  # it took no time
    assert "p95" in text


def test_the_last_steps_of_each_worker_are_printed() -> None:
    job = FakeJob()
    workers = [job.worker(rank, world_size=2) for rank in range(2)]
    for step in range(20):
        for worker in workers:
            worker.step(step, {"forward": 1.0})
    for worker in workers:
        worker.flush()
    rows = [line.split()[:3] for line in repr(job.job().steps()).splitlines()[2:12]]
    assert rows == [[str(rank), "train", str(step)] for step in range(15, 20) for rank in range(2)]


def test_events_are_chosen_by_name_category_worker_step_and_time() -> None:
    job = trained().job()
    forward = job.events("for*", category="phase", worker=0, steps=(1, 3))
    assert forward.to_arrow()["seconds"].to_pylist() == [1.0, 1.0]
    assert len(job.events(category="step", start=0.0, end=4.0)) == 1
    assert "step      step           10   46 s   4.6 s      7 s" in repr(job.events())
    assert repr(job.events("forward", steps=(900, None))) == "No matching event recorded"


def test_losses_are_the_true_values_of_every_worker() -> None:
    losses = trained().job().losses
    assert losses.names == ("loss",)
    table = losses.to_arrow()
    assert set(table["source"].to_pylist()) == {"hook"}
    assert table.filter(table["mode"].to_numpy() == "train")["value"].to_pylist()[:2] == [10.0, 5.0]
    assert "eval" in repr(losses)


def test_the_loss_is_averaged_across_workers() -> None:
    reduced = trained().job().scalars("loss", mode="train").reduced()
    assert list(reduced) == [(0, 10.5), (1, 5.5), (2, pytest.approx(10 / 3 + 0.5)), (3, 3.0)]
    assert reduced.to_arrow()["workers"].to_pylist() == [2] * 4
    assert len(reduced.to_pandas()) == len(reduced.to_polars()) == 4
    assert repr(reduced).splitlines()[0].split()[:3] == ["name", "mode", "source"]


def test_logged_losses_are_used_if_the_hook_captured_none() -> None:
    job = FakeJob()
    job.worker().scalar("loss", 0, 7.0, source="log").scalar(
        "accuracy", 0, 0.5, source="log"
    ).flush()
    assert job.job().losses.to_arrow()["value"].to_pylist() == [7.0]


def test_scalars_are_chosen_by_name_mode_worker_source_and_step() -> None:
    job = trained().job()
    assert job.scalars("learning_rate/*").names == ("learning_rate/0",)
    assert len(job.scalars("loss", mode="train", worker=1, start_step=2)) == 2
    assert len(job.scalars(source="log")) == 0
    assert repr(job.scalars("no*")).startswith("No scalar 'no*' recorded. Available: ")


def test_stages_are_a_table_and_found_by_name() -> None:
    job = trained(workers=1)
    stages = job.end().job().stages
    assert stages["training_loop"].seconds == 22.0
    assert stages["finalization"].seconds == 1.0
    assert stages.to_arrow()["stage"].to_pylist()[0] == "initialization"
    assert repr(stages).splitlines()[0].split() == ["stage", "duration", "share", "start", "end"]
    assert repr(FakeJob().job().stages) == "No training recorded"


def test_an_unknown_stage_lists_the_available_stages() -> None:
    with pytest.raises(
        UsageError, match=r"Unknown stage 'loop'\. Available: initialization, training_loop, "
    ):
        trained().job().stages["loop"]
    with pytest.raises(UsageError, match="no training recorded"):
        FakeJob().job().stages["training_loop"]


def test_workers_are_sorted_by_rank_and_have_a_device() -> None:
    job = FakeJob()
    for rank in (10, 2, 0):
        job.worker(rank, device="cuda:1")
    opened = job.job()
    assert opened.workers == ("0", "2", "10")
    assert {life.info.device for life in opened.lives} == {"cuda:1"}


def test_a_refresh_shows_new_steps_and_tensors() -> None:
    fake = FakeJob()
    worker = fake.worker().step(0, PLAIN).statistics("w", 0, [1.0]).flush()
    job = fake.job()
    assert len(job.steps()) == 1
    assert list(job.tensor("w").reduction("max")) == [(0, 1.0)]
    worker.step(1, PLAIN).statistics("v", 1, [1.0]).flush()
    fake.worker(1).step(0, PLAIN).flush()
    job.refresh()
    assert len(job.steps()) == 3
    assert job.tensor("v").steps() == [1]


def test_a_job_without_training_has_empty_tables() -> None:
    job = FakeJob().end().job()
    assert len(job.steps()) == len(job.losses) == len(job.events()) == len(job.tensors()) == 0
    assert job.summary["stages"] is None
    assert job.losses.reduced().to_arrow().num_rows == 0
