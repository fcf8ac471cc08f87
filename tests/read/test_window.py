"""The windows of a job that rules evaluate."""

import numpy as np
import pytest

from sonde.clock import NANOSECONDS
from sonde.read.job_data import BLOCK_STEPS, JobData
from sonde.read.open_job import OpenJob
from sonde.read.window import Window
from sonde.read.windows import step_windows, time_windows
from sonde.records.need import Losses, Steps
from tests.fakes.job import FakeJob


def data_of(job: FakeJob) -> JobData:
    return JobData(OpenJob(job.backend, job.clock))


def by_steps(job: FakeJob, width: int, attempt: int = 0) -> list[Window]:
    data = data_of(job)
    return [window for _, window in step_windows(data, data.attempts[attempt], width, 0)]


def trained(steps: int = 25, every_eval: int = 10) -> FakeJob:
    """Record steps of 0.1 s with a loss and a one-step evaluation after every tenth step."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        worker.scalar("loss", step, float(step)).step(step, {"forward": 0.1})
        if step % every_eval == every_eval - 1:
            number = step // every_eval
            worker.scalar("loss", number, 100.0 + number, mode="eval")
            worker.observation("module-mode", "model", step)
            worker.step(number, {"forward": 0.05}, mode="eval")
    worker.flush()
    return job.end()


def test_windows_have_fixed_boundaries_and_the_last_one_has_the_rest() -> None:
    windows = by_steps(trained(), 10)
    assert [str(window) for window in windows] == ["steps 0–9", "steps 10–19", "steps 20–29"]
    assert [window.is_last for window in windows] == [False, False, True]
    assert [len(window.steps()[0].steps) for window in windows] == [10, 10, 5]


def test_a_full_window_is_the_last_one_for_any_time_of_the_poll() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(20):
        worker.step(step, {"forward": 0.5})
    job.clock.advance(3.0)  # its data is complete, and another step may follow
    worker.beat().flush()
    assert [str(window) for window in by_steps(job, 10)] == ["steps 0–9"]
    worker.beat(is_over=True)
    assert [window.is_last for window in by_steps(job.end(), 10)] == [False, True]


def test_a_full_window_of_a_live_worker_is_ready_and_does_not_change() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(20):
        worker.step(step, {"forward": 0.5})
    job.clock.advance(5.0)
    worker.beat().flush()
    assert [window.is_last for window in by_steps(job, 10)] == [False, False]
    worker.beat(is_over=True)
    assert [window.is_last for window in by_steps(job.end(), 10)] == [False, False]


def test_data_without_a_training_step_belongs_to_a_window_by_time() -> None:
    windows = by_steps(trained(), 10)
    losses = [[curve.values.tolist() for curve in window.losses("eval")] for window in windows]
    assert losses == [[], [[100.0]], [[101.0]]]
    assert [len(window.observations()) for window in windows] == [0, 1, 1]
    assert sum(len(table.steps) for window in windows for table in window.steps("eval")) == 2


def test_observations_are_selected_by_kind_in_order_of_time() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(4):
        worker.observation("batch-hash", "input", step, value=step).step(step, {"forward": 0.1})
    worker.observation("module-mode", "model", 3).flush()
    windows = by_steps(job.end(), 2)
    assert [[window.step for window in w.observations("batch-*")] for w in windows] == [
        [0, 1],
        [2, 3],
    ]
    assert [[window.kind for window in w.observations("module-mode")] for w in windows] == [
        [],
        ["module-mode"],
    ]


def test_steps_count_as_inspected_if_a_hook_inspects_them() -> None:
    job = FakeJob()
    for rank, framework in enumerate(("torch", "")):
        worker = job.worker(rank, framework=framework, world_size=2)
        for step in range(25):
            worker.step(step, {"forward": 0.1})
        worker.flush()
    windows = by_steps(job.end(), 10)
    assert [window.count_inspected_steps() for window in windows] == [10, 10, 5]
    assert [window.datapoints for window in windows] == [10, 10, 5]


def test_windows_of_seconds_contain_the_data_of_their_time() -> None:
    job = trained().record({"cpu.user_percent": [1.0, np.nan, 3.0]}, every_seconds=1.0)
    data = data_of(job)
    windows = [window for _, window in time_windows(data, data.attempts[0], 1.0, 0)]
    assert sum(len(table.steps) for each in windows for table in each.steps()) == 25
    values = [each.values.tolist() for w in windows for each in w.system("cpu.user_percent")]
    assert values == [[1.0], [3.0]]
    assert windows[1].start_ns - windows[0].start_ns == NANOSECONDS


def test_losses_are_means_over_workers() -> None:
    job = FakeJob()
    for rank in (0, 1):
        worker = job.worker(rank, world_size=2)
        for step in range(3):
            worker.scalar("loss", step, float(step + 10 * rank)).step(step, {"forward": 0.1})
        worker.flush()
    [window] = by_steps(job.end(), 10)
    [loss] = window.losses()
    assert list(loss) == [(0, 5.0), (1, 6.0), (2, 7.0)]


def test_tensors_of_a_collection_are_read_across_blocks() -> None:
    job = FakeJob()
    worker = job.worker().add_tensor("gradient/w", "gradients").add_tensor("w", "weights")
    first = BLOCK_STEPS - 5
    for step in range(first, first + 10):
        worker.statistics("gradient/w", step, [float(step), -1.0]).statistics("w", step, [1.0])
        worker.step(step, {"forward": 0.1})
    worker.flush()
    [window] = by_steps(job.end(), 2 * BLOCK_STEPS)
    [tensor] = window.tensors("gradients")
    assert tensor.steps.tolist() == list(range(first, first + 10))
    assert [value for _, value in tensor.reduction("max")] == tensor.steps.tolist()
    assert [each.name for each in window.tensors("all", regex="^w$")] == ["w"]


def test_shards_of_a_tensor_are_merged() -> None:
    job = FakeJob()
    for rank in (0, 1):
        worker = job.worker(rank, world_size=2).add_tensor("gradient/w", "gradients", is_shard=True)
        for step in range(3):
            worker.statistics("gradient/w", step, [1.0 + rank] * 4).step(step, {"forward": 0.1})
        worker.flush()
    [window] = by_steps(job.end(), 10)
    [tensor] = window.tensors("gradients")
    assert tensor.worker is None
    assert [value for _, value in tensor.reduction("mean")] == [1.5] * 3


def test_replicated_tensors_are_returned_once_or_per_worker() -> None:
    job = FakeJob()
    for rank in (0, 1):
        worker = job.worker(rank, world_size=2).add_tensor("gradient/w", "gradients")
        worker.statistics("gradient/w", 0, [1.0]).step(0, {"forward": 0.1}).flush()
    [window] = by_steps(job.end(), 10)
    assert [each.worker for each in window.tensors("gradients")] == [0]
    assert [each.worker for each in window.tensors("gradients", each_worker=True)] == [0, 1]


def test_operations_are_selected_by_the_time_of_the_window() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(20):
        worker.operation(f"op{step}", "kernel", 0.01, 0.01).step(step, {"forward": 0.1})
    worker.flush()
    windows = by_steps(job.end(), 10)
    tables = [window.operations("kernel", ["name"])[0] for window in windows]
    assert [table.num_rows for table in tables] == [10, 10]
    assert tables[1]["name"].to_pylist()[0] == "op10"
    assert windows[0].operations("loading", ["name"]) == {}


def test_only_data_that_a_rule_needs_counts_as_data_points() -> None:
    [window] = [each.for_needs((Losses(),)) for each in by_steps(trained(8), 10)]
    window.losses()
    window.steps()
    assert window.datapoints == 8
    [window] = [each.for_needs((Steps(),)) for each in by_steps(trained(8), 10)]
    window.losses()
    assert window.datapoints == 0


def test_each_attempt_has_its_own_windows() -> None:
    job = FakeJob()
    for restart, steps in ((0, range(15)), (1, range(10, 22))):
        worker = job.worker(restart=restart)
        for step in steps:
            worker.scalar("loss", step, float(restart)).step(step, {"forward": 0.1})
        worker.flush()
        job.clock.advance(5)
    job.end()
    attempts = data_of(job).attempts
    assert [(attempt.number, attempt.is_over) for attempt in attempts] == [(0, True), (1, True)]
    first, second = by_steps(job, 10), by_steps(job, 10, attempt=1)
    assert [len(window.losses()[0]) for window in first] == [10, 5]
    assert [set(window.losses()[0].values) for window in second] == [{1.0}, {1.0}]


def test_windows_wait_for_a_slow_worker_until_it_is_silent() -> None:
    job = FakeJob()
    fast, slow = (job.worker(rank, world_size=2) for rank in (0, 1))
    start_ns = job.clock.now_ns()
    for step in range(40):
        fast.step(step, {"forward": 0.2})
    job.clock._now_ns = start_ns
    for step in range(12):
        slow.step(step, {"forward": 0.2})
    fast.flush()
    slow.flush()
    assert len(by_steps(job, 10)) == 0
    slow.clock._now_ns = start_ns + 8 * NANOSECONDS
    slow.beat()
    assert len(by_steps(job, 10)) == 1
    fast.clock._now_ns = start_ns + 200 * NANOSECONDS
    fast.beat()
    assert len(by_steps(job, 10)) == 4


@pytest.mark.parametrize("world_size", [1, 2])
def test_windows_wait_for_workers_that_have_not_started(world_size: int) -> None:
    job = FakeJob()
    worker = job.worker(0, world_size=world_size)
    for step in range(60):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert bool(by_steps(job, 10)) == (world_size == 1)


def test_the_end_of_one_worker_does_not_end_the_time_of_others() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(50):
        worker.step(step, {"forward": 0.1})
    worker.beat(is_over=True).flush()
    job.record({"cpu.user_percent": [1.0] * 60})  # the launcher continues for thirty seconds
    data = data_of(job)
    windows = [window for _, window in time_windows(data, data.attempts[0], 10.0, 0)]
    assert len(windows) == 3
    assert all(window.end_ns <= job.clock.now_ns() for window in windows)


def test_windows_wait_for_a_running_worker_after_another_has_ended() -> None:
    job = FakeJob()
    ended, slow = job.worker(0, world_size=2), job.worker(1, world_size=2)
    for step in range(40):
        ended.step(step, {"forward": 0.1})
        if step < 25:
            slow.step(step, {"forward": 0.1})
    ended.beat(is_over=True).flush()
    slow.beat().flush()
    assert [str(window) for window in by_steps(job, 10)] == ["steps 0–9", "steps 10–19"]


def test_windows_do_not_wait_for_a_worker_that_ended_early() -> None:
    job = FakeJob()
    ended, going = job.worker(0, world_size=2), job.worker(1, world_size=2)
    for step in range(60):
        if step < 15:
            ended.step(step, {"forward": 0.1})
        going.step(step, {"forward": 0.1})
    ended.beat(is_over=True).flush()
    going.beat().flush()
    assert [str(window) for window in by_steps(job, 20)] == ["steps 0–19", "steps 20–39"]


def test_the_last_window_waits_for_the_end_of_the_job() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(25):
        worker.step(step, {"forward": 0.1})
    worker.beat(is_over=True).flush()
    assert [str(window) for window in by_steps(job, 10)] == ["steps 0–9", "steps 10–19"]
    assert [window.is_last for window in by_steps(job.end(), 10)] == [False, False, True]
