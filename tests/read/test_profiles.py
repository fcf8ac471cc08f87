"""Operations, windows, steps and phases of one worker, selected by time."""

import json

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.profiles import (
    operations_of,
    phases_of,
    steps_of,
    time_of_steps,
    windows_of,
)
from sonde.read.workers import WorkerLife, WorkerReader
from sonde.records.ranges import StepRange, TimeRange
from sonde.store.format import OPERATIONS
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker


def reader_of(worker: FakeWorker) -> WorkerReader:
    worker.flush()
    return WorkerReader(worker.backend, worker.rank, [WorkerLife(worker.info)])


def operate(worker: FakeWorker, name: str, start_ns: int, category: str = "operator") -> None:
    row = (name, category, "thread 1", "cpu", start_ns, 10, 10, -1, "", "")
    worker.writer.add(OPERATIONS, row)


def test_operations_are_in_order_of_time_across_writers() -> None:
    worker = FakeJob().worker()
    now_ns = worker.clock.now_ns()
    for name, offset in (("c", 300), ("a", 100), ("b", 200)):
        operate(worker, name, now_ns + offset)
    reader = reader_of(worker)
    assert operations_of(reader)["name"].to_pylist() == ["a", "b", "c"]
    within = TimeRange(now_ns + 150, now_ns + 300)
    assert operations_of(reader, within, ["name"]).to_pylist() == [{"name": "b"}]


def test_operations_can_be_selected_by_text() -> None:
    worker = FakeJob().worker()
    operate(worker, "a", 1)
    operate(worker, "k", 2, "kernel")
    result = operations_of(reader_of(worker), columns=["name"], only={"category": {"kernel"}})
    assert result["name"].to_pylist() == ["k"]


def test_a_worker_without_profiles_has_no_operations_and_no_windows() -> None:
    reader = reader_of(FakeJob().worker())
    assert operations_of(reader).num_rows == 0
    assert windows_of(reader) == ()
    assert len(steps_of(reader)) == 0
    assert time_of_steps(reader, StepRange(0, 5)) is None
    assert phases_of(reader).at(np.array([1, 2])).tolist() == [-1, -1]


def test_windows_have_their_kind_steps_and_cost() -> None:
    worker = FakeJob().worker()
    detail = json.dumps({"steps": [5, 6], "by": "plan", "cost_seconds": 0.25})
    more = {"lane": "profile", "detail": detail}
    worker.span("operators", 1.0, 2.0, step=5, category="window", **more)
    (window,) = windows_of(reader_of(worker))
    assert (window.kind, window.by, window.cost_seconds) == ("operators", "plan", 0.25)
    assert (window.first_step, window.last_step) == (5, 6)
    assert window.end_ns - window.start_ns == 2 * NANOSECONDS
    assert window.extent == TimeRange(window.start_ns, window.end_ns)


def test_steps_and_phases_are_selected_by_time() -> None:
    worker = FakeJob().worker()
    began_ns = worker.clock.now_ns()
    worker.step(0, {"forward": 1.0, "backward": 2.0}, rest=1.0)
    worker.step(1, {"forward": 1.0, "backward": 2.0}, rest=1.0)
    worker.step(0, {"forward": 1.0}, mode="eval")
    reader = reader_of(worker)
    steps, phases = steps_of(reader), phases_of(reader)
    assert steps.steps.tolist() == [0, 1]
    assert phases.names == ("forward", "backward", "forward", "backward")
    seconds = np.array([0.5, 2.0, 3.5, 4.5, 100.0])
    instants = began_ns + (seconds * NANOSECONDS).astype(np.int64)
    assert steps.at(instants).tolist() == [0, 0, 0, 1, -1]
    assert phases.at(instants).tolist() == [0, 1, -1, 2, -1]
    span = time_of_steps(reader, StepRange(1, 2))
    assert span == TimeRange(began_ns + 4 * NANOSECONDS, began_ns + 8 * NANOSECONDS)


def test_an_instant_belongs_to_the_active_phase_that_began_last() -> None:
    worker = FakeJob().worker()
    worker.span("backward", 0.0, 10.0)
    worker.span("collective", 2.0, 1.0)
    phases = phases_of(reader_of(worker))
    began_ns = worker.clock.now_ns()
    instants = began_ns + np.array([1, 2, 5, 11]) * NANOSECONDS
    assert [phases.names[item] if item >= 0 else "" for item in phases.at(instants)] == [
        "backward",
        "collective",
        "backward",
        "",
    ]
