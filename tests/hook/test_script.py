"""Functions that training scripts call, inside and outside of a job."""

import json
import math
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.clock import SystemClock
from sonde.hook import script
from sonde.hook.session import Session
from sonde.hook.steps import Pass
from sonde.settings import HookSettings, WorkerPlacement, parse_save
from sonde.store.backends import open_backend
from sonde.store.format import EVENTS, SCALARS, STATISTICS, Family
from sonde.store.layout import worker_folder
from sonde.store.reader import FolderReader
from sonde.store.tensors import decode_tensors
from tests.fakes.profiler import fake_profilers


class RecordedProcess:
    """A session for this process as if it were a worker, and the recorded data."""

    def __init__(self, folder: Path, *save: str, is_recorded: bool = True) -> None:
        self.uri = str(folder / "job")
        collections = tuple(parse_save(text) for text in save)
        settings = HookSettings(collections=collections, profile=())
        worker = WorkerPlacement("node-a", self.uri if is_recorded else None)
        self.session = Session(worker, settings, SystemClock())

    def train(self) -> None:
        """Report one step, as an adapter does."""
        now_ns = self.session.clock.now_ns
        self.session.activate()
        self.session.steps.forward(now_ns(), Pass.TRAIN)
        self.session.steps.optimizer_begins(0)
        self.session.steps.optimizer_ends(0, now_ns())

    def rows(self, family: Family, *columns: str) -> list[tuple[Any, ...]]:
        self.session.close()
        reader = FolderReader(open_backend(self.uri), worker_folder(0), family)
        reader.refresh()
        return [tuple(row[name] for name in columns) for row in reader.rows().to_pylist()]

    def values(self) -> dict[str, list[str]]:
        """Return the names of saved values by mode and step."""
        self.session.close()
        backend = open_backend(self.uri)
        values: dict[str, list[str]] = {}
        for entry in backend.entries("workers/0/values"):
            step = entry.key.rpartition("/")[2].rpartition("-")[0]
            tensors, _ = decode_tensors(backend.read(entry.key), entry.key)
            values.setdefault(step, []).extend(sorted(tensors))
        return values


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordedProcess]:
    process = RecordedProcess(tmp_path)
    monkeypatch.setattr(Session, "_current", process.session)
    monkeypatch.setattr(script, "_warned", set())
    yield process
    process.session.close()


def test_logged_number_belongs_to_the_step_that_has_just_ended(process: RecordedProcess) -> None:
    sonde.log(before=1)
    process.train()
    sonde.log({"top 5": np.float32(0.75)}, accuracy=0.5)
    process.session.steps.span("forward", process.session.clock.now_ns())
    sonde.log({"of the next": True})
    assert process.rows(SCALARS, "name", "step", "mode", "value", "source") == [
        ("before", 0, "train", 1.0, "log"),
        ("top 5", 0, "train", 0.75, "log"),
        ("accuracy", 0, "train", 0.5, "log"),
        ("of the next", 1, "train", 1.0, "log"),
    ]


def test_step_and_mode_of_a_logged_number_can_be_set(process: RecordedProcess) -> None:
    sonde.log(score=1, step=70, mode="eval")
    with sonde.mode("predict"):
        sonde.log(score=2)
    sonde.log(score=3)
    rows = process.rows(SCALARS, "step", "mode", "value")
    assert rows == [(70, "eval", 1.0), (0, "predict", 2.0), (0, "train", 3.0)]


def test_invalid_values_are_ignored_with_one_warning(process: RecordedProcess) -> None:
    with pytest.warns(UserWarning, match="ignored loss, expected a number but got str"):
        sonde.log(loss="low", accuracy=1)
    sonde.log(loss="low", accuracy=2)
    with pytest.warns(UserWarning, match="ignored a list; pass numbers by name"):
        sonde.log([1, 2])  # type: ignore[arg-type]
    with pytest.warns(
        UserWarning, match="ignored mode 'test'; choose one of: train, eval, predict"
    ):
        sonde.log(accuracy=3, mode="test")
    with pytest.warns(UserWarning, match="ignored step='one', expected a number"):
        sonde.log(accuracy=4, step="one")  # type: ignore[arg-type]
    with pytest.warns(
        UserWarning, match="ignored picture, expected an array of numbers but got str"
    ):
        sonde.save("picture", "cat.png")
    assert [value for (value,) in process.rows(SCALARS, "value")] == [1, 2, 3, 4]


def test_warning_never_stops_training(process: RecordedProcess) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sonde.log(loss=None)
    sonde.log(loss=10**400)
    sonde.log(loss=-(10**400))
    assert process.rows(SCALARS, "value") == [(math.inf,), (-math.inf,)]


def test_phases_belong_to_their_step(process: RecordedProcess) -> None:
    @sonde.phase("tokenize")
    def tokenize(times: int) -> None:
        if times:
            tokenize(times - 1)

    with sonde.phase("data_wait"):
        tokenize(1)
    process.train()
    named = ("tokenize", "data_wait")
    rows = process.rows(EVENTS, "name", "category", "step", "lane")
    assert [row for row in rows if row[0] in named] == [
        ("tokenize", "user", 0, "main"),
        ("tokenize", "user", 0, "main"),
        ("data_wait", "phase", 0, "main"),
    ]


def test_phase_of_another_thread_has_a_separate_lane(process: RecordedProcess) -> None:
    process.session.hook("steps", process.train, None)()

    def work() -> None:
        with sonde.phase("fetch"):
            pass

    thread = threading.Thread(target=work, name="fetcher")
    thread.start()
    thread.join()
    rows = process.rows(EVENTS, "name", "lane")
    assert ("fetch", "thread fetcher") in rows


def test_phase_that_raises_is_recorded(process: RecordedProcess) -> None:
    with pytest.raises(KeyError), sonde.phase("fragile"):
        raise KeyError
    process.train()
    assert "fragile" in [name for (name,) in process.rows(EVENTS, "name")]


def test_passes_in_a_mode_block_count_as_steps_of_that_mode(process: RecordedProcess) -> None:
    steps, now_ns = process.session.steps, process.session.clock.now_ns

    @sonde.mode("eval")
    def evaluate() -> None:
        steps.forward(now_ns(), Pass.TRAIN)
        sonde.log(score=1)
        steps.forward(now_ns(), Pass.TRAIN)
        sonde.log(score=2)

    process.session.activate()
    evaluate()
    assert steps.forced_mode is None
    assert steps.counts == {"train": 0, "eval": 2}
    assert process.rows(SCALARS, "step", "mode") == [(0, "eval"), (1, "eval")]


def test_script_can_end_steps_itself(process: RecordedProcess) -> None:
    for number in range(3):
        sonde.log(loss=number)
        sonde.step()
    with sonde.mode("eval"):
        sonde.step()
    assert process.rows(SCALARS, "step", "value") == [(0, 0), (1, 1), (2, 2)]
    steps = [row[1:] for row in process.rows(EVENTS, "name", "mode", "step") if row[0] == "step"]
    assert steps == [("train", 0), ("train", 1), ("train", 2), ("eval", 0)]


def test_detected_step_is_not_counted_twice(process: RecordedProcess) -> None:
    for _ in range(3):
        process.train()
        sonde.step()
    assert process.session.steps.counts == {"train": 3}


def test_saved_array_is_recorded_in_full(process: RecordedProcess) -> None:
    for number in range(2):
        sonde.save("embedding", np.full(3, number, dtype=np.float32))
        sonde.save("list", [1, 2])
        sonde.step()
    assert process.values() == {
        "train-0000000000": ["embedding", "list"],
        "train-0000000001": ["embedding", "list"],
    }
    rows = process.rows(STATISTICS, "name", "step", "count", "maximum", "histogram")
    assert [row[:4] for row in rows if row[0] == "embedding"] == [
        ("embedding", 0, 3, 0.0),
        ("embedding", 1, 3, 1.0),
    ]
    assert rows[-1][-1], "a histogram"
    assert process.session.store.has_tensor("embedding")


def test_saved_array_is_a_copy(process: RecordedProcess) -> None:
    values = np.zeros(2)
    sonde.save("values", values)
    values += 1
    assert process.rows(STATISTICS, "maximum") == [(0.0,)]


def test_collection_schedule_applies_to_saved_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = RecordedProcess(tmp_path, "all:every=2", "mine:include=^emb,steps=1,values")
    monkeypatch.setattr(Session, "_current", process.session)
    for _ in range(3):
        sonde.save("embedding", [1.0])
        sonde.save("other", [1.0])
        sonde.step()
    rows = process.rows(STATISTICS, "name", "step")
    assert sorted(rows) == [*(("embedding", step) for step in range(3)), ("other", 0), ("other", 2)]
    assert process.values() == {"train-0000000001": ["embedding"]}


def test_functions_do_nothing_outside_of_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = RecordedProcess(tmp_path, is_recorded=False)
    monkeypatch.setattr(Session, "_current", process.session)
    sonde.log(loss=object())
    sonde.save("embedding", object())
    with sonde.phase("think"), sonde.mode("eval"):
        sonde.step()
    assert not process.session.state.is_on
    assert list(tmp_path.iterdir()) == []
    assert process.session.steps.counts == {"train": 0}


def test_internal_failure_does_not_reach_the_script(
    process: RecordedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    sonde.log(loss=1)
    monkeypatch.setattr(process.session.recorder, "scalar", fail)
    sonde.log(loss=2)
    monkeypatch.undo()
    assert process.session.guard.failed == {"sonde.log": "MemoryError: "}
    assert process.session.state.is_on


def windows_of(process: RecordedProcess) -> list[tuple[Any, ...]]:
    rows = process.rows(EVENTS, "category", "name", "detail")
    facts = [(name, json.loads(detail)) for category, name, detail in rows if category == "window"]
    return [(name, *fact["steps"], fact["by"]) for name, fact in facts]


def test_script_can_profile_its_next_steps(process: RecordedProcess) -> None:
    with fake_profilers("operators", "python") as fakes:
        process.train()
        sonde.profile("python", steps=2)
        while len(fakes.calls) < 2:
            process.train()
        [(name, first, last, by)] = windows_of(process)

    assert (name, last, by) == ("python", first + 1, "script")
    assert first >= 1


def test_script_can_profile_a_block_or_a_function(process: RecordedProcess) -> None:
    @sonde.profile("operators")
    def decorated() -> None:
        process.train()

    with fake_profilers("operators", "python") as fakes:
        process.train()
        with sonde.profile("python", profiler="stacks"):
            process.train()
            process.train()
            with sonde.profile("operators"):  # one at a time
                process.train()
        decorated()
        windows = windows_of(process)

    assert [call[:2] for call in fakes.calls] == [
        *(("begin", "python"), ("end", "python")),
        *(("begin", "operators"), ("end", "operators")),
    ]
    assert windows == [("python", 1, 3, "script"), ("operators", 4, 4, "script")]


def test_profiled_block_marks_its_step(process: RecordedProcess) -> None:
    with fake_profilers("python"):
        process.train()
        with sonde.phase("tokenize"):
            pass
        with sonde.profile("python"):
            pass
        process.train()
        process.train()
        rows = process.rows(EVENTS, "category", "step", "detail")

    assert [step for category, step, detail in rows if "profiled" in detail] == [1]


def test_invalid_profile_request_emits_a_warning(process: RecordedProcess) -> None:
    with pytest.warns(UserWarning, match=r"'colours' is invalid.*nothing is profiled"):
        sonde.profile("colours", steps=3)
    with pytest.warns(UserWarning, match="steps"), sonde.profile("python", steps=0):
        process.train()
    assert windows_of(process) == []


def test_nothing_is_profiled_outside_of_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Session, "_current", RecordedProcess(tmp_path, is_recorded=False).session)
    with fake_profilers("python") as fakes, sonde.profile("python"):
        sonde.profile("python", steps=1)
    assert fakes.calls == []


def test_script_can_number_the_steps_of_saved_arrays(process: RecordedProcess) -> None:
    for step in (7, 8):
        sonde.save("weights", [1.0, 2.0], step=step, mode="eval")
        sonde.save("bias", [2.0], step=step, mode="eval")
    assert process.values() == {
        "eval-0000000007": ["bias", "weights"],
        "eval-0000000008": ["bias", "weights"],
    }


def test_reductions_replace_the_full_value(process: RecordedProcess) -> None:
    with pytest.warns(UserWarning, match="ignored reduction 'kurtosis'; choose from: abs_max"):
        sonde.save("weights", [2.0, 3.0], reductions=["prod", "mean", "kurtosis"])
    assert process.values() == {}
    assert process.rows(SCALARS, "name", "value", "source") == [("prod/weights", 6.0, "reduction")]
    assert process.rows(STATISTICS, "name", "maximum") == [("weights", 3.0)]


def test_flush_writes_what_is_held_until_the_end_of_the_step(process: RecordedProcess) -> None:
    sonde.save("weights", [1.0], collections=("mine",))
    sonde.log(loss=0.5)
    sonde.flush()
    backend = open_backend(process.uri)
    assert backend.entries("workers/0/values")
    assert backend.entries("workers/0/scalars")
    index = json.loads(backend.read("workers/0/attempt-001.0/tensors.json"))
    assert index["tensors"][0]["collections"] == ["all", "mine"]


def test_recorded_process_knows_its_job(process: RecordedProcess) -> None:
    assert sonde.current_job() == process.uri
