"""job.dataloader(): tables and advice from recorded data."""

import json
from typing import Any

import pytest

from sonde.cli._main import run_command_line
from sonde.terminal.dataloader import loader_lines
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

FACTS = {"num_workers": 2, "batch_size": 8, "dataset": "Images", "cores": 4, "start_method": "fork"}
SLOW = [[["Images.__getitem__ (train.py:9)", "Blur.__call__ (train.py:3)"], 90_000_000]]


def operation(
    worker: FakeWorker, name: str, lane: str, start: float, seconds: float, **detail: Any
) -> None:
    worker.operation(name, "loading", start, seconds, lane=lane, detail=detail or "")


def train(worker: FakeWorker, steps: range, wait: float, first_waits: tuple[float, ...]) -> None:
    """Record an epoch: an iterator starts, and the waits for the first batches are longer."""
    operation(worker, "iterator start", "loader 0", 0.0, 0.2, **FACTS)
    worker.clock.advance(0.2)
    for number, step in enumerate(steps):
        waited = first_waits[number] if number < len(first_waits) else wait
        worker.step(step, {"data_wait": waited, "forward": 0.04, "backward": 0.06})


def slow_job(uri: str = "") -> FakeJob:
    job = FakeJob(uri)
    worker = job.worker(device="cuda:0")
    train(worker, range(20), 0.1, (1.0, 0.5))
    for process in (0, 1):
        for batch in range(4):
            lane = f"loader 0 process {process}"
            detail = {"stacks": SLOW, "cpu_seconds": 0.2} if batch == 3 else {}
            operation(worker, "batch", lane, -1.6 + 0.4 * batch, 0.4, **detail)
        facts = {"calls": 8, "longest_ns": 90_000_000, "items_ns": 320_000_000}
        operation(worker, "items", f"loader 0 process {process}", -0.4, 0.32, **facts)
    train(worker, range(20, 40), 0.1, (1.0, 0.5))
    worker.flush()
    return job.end()


def test_waits_for_first_batches_count_as_startup() -> None:
    loaders = slow_job().job().dataloader()
    starts = loaders.starts.to_arrow().to_pylist()
    assert [row["seconds"] for row in starts] == [0.2, 0.2]
    assert [row["first_wait_seconds"] for row in starts] == [1.5, 1.5]
    assert [row["outlier"] for row in starts] == [False, False]
    [report] = loaders.reports
    waits = report.seconds("next batch")
    assert waits is not None
    assert waits.count == 36
    assert waits.maximum == pytest.approx(0.1)
    assert (report.loading.wait, report.loading.step) == pytest.approx((0.1, 0.1))
    # the data wait that is shown includes them, as in the time by phase
    assert report.record.waited_percent == pytest.approx(100 * 6.6 / 10.6)
    assert report.record.step_seconds == pytest.approx([0.1] * 36)
    assert report.record.busy_percent == pytest.approx(100)


def test_the_table_has_a_row_per_operation() -> None:
    rows = {row["operation"]: row for row in slow_job().job().dataloader().to_arrow().to_pylist()}
    assert list(rows) == ["batch", "items", "item", "longest item", "idle", "next batch"]
    batch = rows["batch"]
    assert (batch["worker"], batch["loader"], batch["count"]) == (0, 0, 8)
    assert batch["p25"] == batch["p50"] == batch["p95"] == pytest.approx(0.4)
    assert rows["item"]["p50"] == pytest.approx(0.04)
    assert rows["longest item"]["p50"] == pytest.approx(0.09)


def test_single_items_have_no_total() -> None:
    printed = [
        line.plain.split() for line in loader_lines(slow_job().job().dataloader().documents())
    ]
    totals = {row[0]: row[-1] for row in printed if row and row[0] in ("batch", "item", "longest")}
    assert totals["batch"] == "s"
    assert (totals["item"], totals["longest"]) == ("–", "–")


def test_loader_processes_are_idle_between_batches() -> None:
    job = FakeJob()
    worker = job.worker()
    train(worker, range(4), 0.01, ())
    for window in (0.0, 60.0):
        for batch in range(3):
            detail = {} if batch else {"gap": True}
            start = window + 0.4 * batch
            operation(worker, "batch", "loader 0 process 0", start, 0.1, **detail)
    worker.flush()
    [report] = job.end().job().dataloader().reports
    idle = report.seconds("idle")
    assert idle is not None
    assert idle.count == 4
    assert idle.maximum == pytest.approx(0.3)
    assert report.record.busy_percent == pytest.approx(25)


def test_slow_function_is_named_with_advice() -> None:
    loaders = slow_job().job().dataloader()
    [report] = loaders.reports
    assert report.slowest is not None
    assert (report.slowest.name, report.slowest.line) == ("Blur.__call__", 3)
    topics = [advice_item.about for advice_item in report.advice]
    assert topics == ["waiting", "function", "processes", "starts", "pinning"]
    assert "Blur.__call__" in repr(loaders)
    assert "Blur.__call__" in repr(loaders.functions)
    assert loaders.functions.to_arrow()["function"].to_pylist()[-1] in (
        "Blur.__call__",
        "Images.__getitem__",
    )


def test_evaluation_waits_belong_to_the_evaluation_loader() -> None:
    job = FakeJob()
    worker = job.worker()
    train(worker, range(6), 0.01, ())
    operation(worker, "iterator start", "loader 1", 0.0, 0.1, num_workers=0)
    worker.clock.advance(0.1)
    for number in range(4):
        worker.step(number, {"data_wait": 0.5, "forward": 0.1}, mode="eval")
    # training continues with its iterator
    for number in range(6, 10):
        worker.step(number, {"data_wait": 0.01, "forward": 0.1})
    worker.flush()
    training, evaluation = job.end().job().dataloader().reports
    assert (training.record.mode, evaluation.record.mode) == ("train", "eval")
    assert [len(each.record.wait_steps) for each in (training, evaluation)] == [8, 3]
    assert evaluation.record.waited_percent == pytest.approx(100 * 5 / 6)
    assert [advice_item.about for advice_item in evaluation.advice] == [
        "waiting",
        "window",
        "processes",
    ]
    assert evaluation.advice[0].text == "Eval steps spend 83% of their time waiting for data."


def test_profiled_steps_and_time_outside_of_training_are_excluded() -> None:
    job = FakeJob()
    worker = job.worker()
    train(worker, range(10), 0.01, ())
    worker.step(10, {"data_wait": 5.0, "forward": 5.0}, profiled=True)
    worker.step(11, {"evaluation": 9.0, "checkpoint": 9.0, "data_wait": 0.01, "forward": 0.1})
    worker.flush()
    [report] = job.end().job().dataloader().reports
    assert (report.loading.wait, report.loading.step) == pytest.approx((0.01, 0.1))
    assert report.loading.keeps_up
    assert report.slow_waits == ()
    # evaluation and checkpoint are step time, as in the time by phase
    assert report.record.waited_percent == pytest.approx(100 * 0.11 / (1.1 + 18.11))


def test_long_first_waits_are_no_reason_for_more_processes() -> None:
    job = FakeJob()
    worker = job.worker()
    train(worker, range(20), 0.001, (1.0, 0.5))
    worker.flush()
    [report] = job.end().job().dataloader().reports
    [advice] = report.advice
    assert advice.text == (
        "Data loading keeps up, except for single long waits: train steps spend 43% of their time "
        "waiting for data."
    )


def test_job_without_loaders_prints_a_sentence() -> None:
    job = FakeJob()
    job.worker().step(0, {"forward": 1.0}).flush()
    loaders = job.end().job().dataloader()
    assert (len(loaders), loaders.advice) == (0, ())
    assert repr(loaders) == "No data loaders recorded"
    assert repr(loaders.functions) == "No batches profiled"
    assert repr(loaders.starts) == "No iterator starts recorded"
    assert [line.plain for line in loader_lines(loaders.documents())] == [repr(loaders)]
    assert loaders.to_arrow().num_rows == 0


def test_dataloader_command_prints_the_same_as_text_and_json(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    slow_job(str(tmp_path / "resnet"))
    assert run_command_line(["dataloader", str(tmp_path / "resnet")]) == 0
    shown = capsys.readouterr().out
    assert "Loader 0 of worker 0: Images, for train, 2 worker processes (fork), 4 cores" in shown
    assert "- 100% of the time per batch is spent in Blur.__call__ (train.py:3)." in shown
    assert run_command_line(["dataloader", str(tmp_path / "resnet"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    [loader] = document["loaders"]
    assert loader["slowest_function"]["name"] == "Blur.__call__"
    assert loader["operations"][0]["p50"] == pytest.approx(0.4)
    assert loader["processes_needed"] == 5
    assert run_command_line(["dataloader", str(tmp_path / "resnet"), "--worker", "7"]) == 2
