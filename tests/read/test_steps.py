"""Steps of a worker: phases add up to the step, however events overlap."""

import numpy as np
import pytest

from sonde.clock import NANOSECONDS
from sonde.read.jobs import read_job
from sonde.read.steps import StepTable, read_steps
from sonde.read.workers import WorkerReader
from sonde.records.ranges import StepRange
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

PLAIN = {"data_wait": 0.25, "forward": 1.0, "backward": 2.0, "optimizer": 0.5}


def steps_of(worker: FakeWorker, mode: str = "train", steps: StepRange | None = None) -> StepTable:
    worker.flush()
    table = read_steps(reader_of(worker), mode, steps or StepRange())
    total = np.sum(list(table.phases_ns.values()), axis=0)
    assert (total == table.durations_ns).all()
    assert all((column >= 0).all() for column in table.phases_ns.values())
    return table


def reader_of(worker: FakeWorker) -> WorkerReader:
    lives = read_job(worker.backend, worker.clock.now_ns()).lives
    return WorkerReader(worker.backend, worker.rank, lives)


def seconds(table: StepTable, phase: str) -> list[float]:
    return [column / NANOSECONDS for column in table.phases_ns[phase].tolist()]


@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_step_has_its_phases(is_sealed: bool) -> None:
    worker = FakeJob().worker()
    for number in range(3):
        worker.step(number, PLAIN, rest=0.25)
    if is_sealed:
        worker.seal()

    table = steps_of(worker)

    assert table.steps.tolist() == [0, 1, 2]
    assert (table.durations_ns == 4 * NANOSECONDS).all()
    assert table.ends_ns.tolist()[-1] == worker.clock.now_ns()
    assert seconds(table, "backward") == [2.0] * 3
    assert seconds(table, "between") == [0.25] * 3
    assert seconds(table, "checkpoint") == [0.0] * 3
    assert table.micro_steps.tolist() == [1, 1, 1]
    assert not table.is_skipped.any()


def test_time_inside_nested_phases_is_counted_once() -> None:
    worker = FakeJob().worker()
    worker.span("collective", 1.5, 1.0)
    worker.span("tokenize", 0.0, 0.2, category="user")
    worker.step(0, PLAIN)
    table = steps_of(worker)
    assert seconds(table, "collective") == [1.0]
    assert seconds(table, "backward") == [1.0]
    assert seconds(table, "tokenize") == [0.2]
    assert seconds(table, "data_wait") == [pytest.approx(0.05)]
    assert seconds(table, "between") == [0.0]


def test_a_phase_takes_no_time_from_neighboring_steps() -> None:
    worker = FakeJob().worker()
    worker.step(0, {"forward": 1.0})
    worker.span("checkpoint", -0.5, 1.0, step=1)
    worker.step(1, {"forward": 1.0})
    table = steps_of(worker)
    assert seconds(table, "forward") == [1.0, 0.5]
    assert seconds(table, "checkpoint") == [0.0, 0.5]


def test_events_of_other_threads_are_not_part_of_a_step() -> None:
    worker = FakeJob().worker()
    worker.span("checkpoint", 0.0, 1.0, lane="saver")
    table = steps_of(worker.step(0, {"forward": 1.0}))
    assert seconds(table, "forward") == [1.0]
    assert seconds(table, "checkpoint") == [0.0]


def test_device_time_is_separate_from_phases() -> None:
    worker = FakeJob().worker()
    worker.span("forward", 0.1, 3.0, category="device", lane="cuda:0")
    worker.span("forward", 0.1, 2.0, category="device", lane="cuda:1")
    table = steps_of(worker.step(0, {"forward": 1.0}).step(1, {"forward": 1.0}))
    assert table.device_seconds["forward"][0] == 5.0
    assert np.isnan(table.device_seconds["forward"][1])
    assert seconds(table, "forward") == [1.0, 1.0]


def test_details_of_a_step_are_read() -> None:
    worker = FakeJob().worker()
    worker.step(0, PLAIN, micro_steps=4).step(1, PLAIN, skipped=True)
    table = steps_of(worker)
    assert table.micro_steps.tolist() == [4, 1]
    assert table.is_skipped.tolist() == [False, True]


def test_phases_of_unfinished_steps_are_excluded() -> None:
    worker = FakeJob().worker().step(0, PLAIN)
    table = steps_of(worker.span("forward", 0.0, 1.0, step=1))
    assert table.steps.tolist() == [0]


def test_modes_are_separate_and_an_evaluation_is_a_phase_of_a_training_step() -> None:
    worker = FakeJob().worker()
    worker.span("evaluation", 1.0, 2.0)
    worker.span("forward", 1.0, 2.0, mode="eval", step=0)
    worker.span("step", 1.0, 2.0, mode="eval", category="step")
    worker.step(0, {"forward": 1.0}, rest=2.5)
    assert seconds(steps_of(worker), "evaluation") == [2.0]
    assert seconds(steps_of(worker, "eval"), "forward") == [2.0]
    assert not len(steps_of(worker, "predict").steps)


@pytest.mark.parametrize("restart", [0, 1])
def test_repeated_steps_use_the_last_life_of_a_worker(restart: int) -> None:
    job = FakeJob()
    first = job.worker()
    for number in range(4):
        first.step(number, {"forward": 1.0})
    first.flush()
    restarted = job.worker(attempt=1 if restart else 2, restart=restart)
    for number in range(2, 5):
        restarted.step(number, {"forward": 3.0, "backward": 1.0})

    table = steps_of(restarted)

    assert table.steps.tolist() == [0, 1, 2, 3, 4]
    assert seconds(table, "forward") == [1.0, 1.0, 3.0, 3.0, 3.0]


def test_a_step_that_began_before_its_worker_registered_keeps_its_phases() -> None:
    job = FakeJob()
    job.worker().step(0, {"forward": 1.0}).flush()
    job.clock.advance(10)
    restarted = job.worker(
        attempt=2
    )  # the worker registers at its first batch, after the wait for it has begun
    restarted.span("data_wait", -0.5, 1.0, step=1)
    restarted.span("forward", 0.5, 2.0, step=1)
    restarted.span("step", -0.5, 3.0, step=1, category="step")

    table = steps_of(restarted)

    assert seconds(table, "data_wait") == [0.0, 1.0]
    assert seconds(table, "forward") == [1.0, 2.0]


def test_steps_can_be_limited_to_a_range() -> None:
    worker = FakeJob().worker()
    for number in range(10):
        worker.step(number, PLAIN)
    assert steps_of(worker, steps=StepRange(4, 6)).steps.tolist() == [4, 5]


def test_a_worker_without_steps_has_an_empty_table() -> None:
    assert steps_of(FakeJob().worker()).steps.tolist() == []
