"""Profiling windows: when they begin and end, and what they cost."""

import json
import threading
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from sonde.hook import profile_windows as windows
from sonde.records.profile import ProfileKind, Window
from sonde.records.worker import WorkerBeat
from sonde.settings import DEFAULT_WINDOWS
from sonde.store.facts import decode_facts
from sonde.store.layout import worker_key
from tests.fakes.plain_loop import PlainLoop
from tests.fakes.profiler import fake_profilers
from tests.fakes.session import Recorded, watched

OPERATORS, PYTHON = ProfileKind.OPERATORS, ProfileKind.PYTHON
ALL = ("operators", "dataloader", "python")


class Script(PlainLoop):
    """A loop that also evaluates."""

    def evaluate(self, steps: int) -> None:
        with torch.no_grad():
            self.model.eval()
            for _ in range(steps):
                self.model(torch.ones(3, 4))
            self.model.train()


def windows_of(recorded: Recorded) -> list[tuple[str, list[int]]]:
    rows = [row for row in recorded.rows["events"] if row["category"] == "window"]
    assert all(row["lane"] == "profile" for row in rows)
    return [(row["name"], json.loads(row["detail"])["steps"]) for row in rows]


def profiled_steps(recorded: Recorded) -> dict[int, str]:
    steps = [row for row in recorded.rows["events"] if row["category"] == "step"]
    details = {row["step"]: json.loads(row["detail"] or "{}") for row in steps}
    return {step: detail["profiled"] for step, detail in details.items() if "profiled" in detail}


@pytest.mark.parametrize("closely", [True, False], ids=["inspected", "deferred"])
def test_default_windows_open_at_their_planned_steps(closely: bool) -> None:
    with (
        fake_profilers(*ALL) as fakes,
        watched(profile=DEFAULT_WINDOWS, closely=closely) as recorded,
    ):
        Script().train(40)

    assert fakes.calls == [
        ("begin", "operators", 5),
        ("end", "operators", 6),
        ("begin", "dataloader", 7),
        ("end", "dataloader", 8),
        ("begin", "python", 9),
        ("end", "python", 12),
    ]
    assert fakes.prepared == list(ALL)
    assert windows_of(recorded) == [
        ("operators", [5, 5]),
        ("dataloader", [7, 7]),
        ("python", [9, 11]),
    ]
    assert profiled_steps(recorded) == {
        5: "operators",
        7: "dataloader",
        **dict.fromkeys((9, 10, 11), "python"),
    }


@pytest.mark.parametrize(("enough_at", "last"), [(20, 19), (1000, 38)], ids=["enough", "never"])
def test_default_window_is_extended_up_to_a_limit_until_it_has_enough_data(
    enough_at: int, last: int
) -> None:
    with fake_profilers("python") as fakes, watched(profile=DEFAULT_WINDOWS) as recorded:
        fakes.enough_at = enough_at
        Script().train(60)

    assert windows_of(recorded) == [("python", [9, last])]


def test_requested_window_has_exactly_the_requested_steps() -> None:
    with fake_profilers("python") as fakes, watched(profile=(Window(PYTHON, 2, 3),)) as recorded:
        fakes.enough_at = 1000
        Script().train(20)

    assert windows_of(recorded) == [("python", [2, 4])]


def test_default_window_is_not_extended_into_the_next_one() -> None:
    plan = (*DEFAULT_WINDOWS, Window(ProfileKind.MEMORY, 15, 1))
    with fake_profilers("python", "memory") as fakes, watched(profile=plan) as recorded:
        fakes.enough_at = 1000
        Script().train(20)

    assert windows_of(recorded) == [("python", [9, 13]), ("memory", [15, 15])]


def test_window_may_begin_with_the_first_step() -> None:
    with (
        fake_profilers("python") as fakes,
        watched(profile=(Window(PYTHON, 0, 2),)) as recorded,
    ):
        Script().train(4)

    assert fakes.calls == [("begin", "python", 0), ("end", "python", 2)]
    assert windows_of(recorded) == [("python", [0, 1])]


def test_overlapping_windows_run_one_after_the_other() -> None:
    plan = (Window(OPERATORS, 3, 4), Window(PYTHON, 4, 2), Window(OPERATORS, 4, 1))
    with fake_profilers(*ALL) as fakes, watched(profile=plan) as recorded:
        script = Script()
        script.train(8)
        settle(recorded)
        script.train(4)
        settle(recorded)
        script.train(4)

    assert [call[:2] for call in fakes.calls] == [
        *(("begin", "operators"), ("end", "operators")),
        *(("begin", "python"), ("end", "python")),
        *(("begin", "operators"), ("end", "operators")),
    ]
    steps = [steps for _, steps in windows_of(recorded)]
    assert all(first[1] + 1 < second[0] for first, second in pairwise(steps)), "a step lies between"
    assert steps[0] == [3, 6]


def settle(recorded: Recorded) -> None:
    """Wait until the worker thread has finished its work."""
    done = threading.Event()
    recorded.session.worker_thread.submit("test", done.set)
    assert done.wait(30)


def test_open_window_ends_when_training_ends() -> None:
    with fake_profilers(*ALL) as fakes, watched(profile=(Window(PYTHON, 2, 100),)) as recorded:
        Script().train(5)

    assert fakes.calls == [("begin", "python", 2), ("end", "python", 5)]
    [row] = [row for row in recorded.rows["events"] if row["category"] == "window"]
    assert json.loads(row["detail"])["cut"] == "training ended"


def test_refusal_of_a_profiler_is_reported_and_the_others_continue() -> None:
    plan = (Window(OPERATORS, 2, 1), Window(PYTHON, 4, 1))
    with fake_profilers(*ALL) as fakes, watched(profile=plan) as recorded:
        fakes.refusal = "another profiler is running"
        script = Script()
        script.train(3)
        fakes.refusal = None
        script.train(4)

    assert windows_of(recorded) == [("python", [4, 4])]
    assert recorded.notices() == {"operators profile": "another profiler is running"}


@pytest.mark.parametrize("call", ["prepare", "begin", "end"])
def test_only_the_profiler_that_raises_is_disabled(call: str) -> None:
    plan = (Window(OPERATORS, 2, 1), Window(OPERATORS, 5, 1))
    with fake_profilers(*ALL) as fakes, watched(profile=plan) as recorded:
        fakes.failing = call
        Script().train(8)
        failed = dict(recorded.session.guard.failed)
        recorded.session.guard.failed.clear()

    assert list(failed) == ["operators profiler"]
    assert recorded.notices() == {"operators profiler": f"ValueError: no {call} today"}
    assert recorded.session.steps.counts["train"] == 8
    assert len(recorded.scalars("loss")) == 8


def test_missing_profiler_is_reported_only_if_requested() -> None:
    plan = (*DEFAULT_WINDOWS, Window(ProfileKind.MEMORY, 3, 1))
    with fake_profilers("python"), watched(profile=plan) as recorded:
        Script().train(15)

    assert windows_of(recorded) == [("python", [9, 11])]
    assert recorded.notices() == {"memory profile": "no memory profiler is available"}


def test_cost_of_a_window_is_recorded_separately_from_hook_overhead() -> None:
    with fake_profilers(*ALL), watched(profile=(Window(PYTHON, 2, 1),)) as recorded:
        Script().train(6)

    [row] = [row for row in recorded.rows["events"] if row["category"] == "window"]
    assert 0 < json.loads(row["detail"])["cost_seconds"] < row["duration_ns"]
    assert recorded.session.windows.running is None


def test_forked_child_does_not_inherit_an_open_window() -> None:
    with fake_profilers(*ALL) as fakes, watched(profile=(Window(PYTHON, 2, 100),)) as recorded:
        Script().train(4)
        settle(recorded)
        parent_thread = recorded.session.worker_thread
        recorded.session.reset()
        assert not recorded.session.windows.is_open
        parent_thread.close(10.0)

    assert fakes.calls == [("begin", "python", 2)]


def test_default_windows_count_from_the_resumed_step() -> None:
    with fake_profilers(*ALL) as fakes, watched(profile=DEFAULT_WINDOWS) as recorded:
        script = Script()
        recorded.session.steps.resume_at(1000)
        script.train(14)

    assert windows_of(recorded)[0] == ("operators", [1005, 1005])
    assert windows_of(recorded)[-1] == ("python", [1009, 1011])
    assert fakes.calls[0] == ("begin", "operators", 1005)


def test_planned_window_before_the_resumed_step_is_reported() -> None:
    plan = (Window(PYTHON, 10, 1), Window(OPERATORS, 1002, 1))
    with fake_profilers(*ALL), watched(profile=plan) as recorded:
        script = Script()
        recorded.session.steps.resume_at(1000)
        script.train(6)

    assert windows_of(recorded) == [("operators", [1002, 1002])]
    [reason] = recorded.notices().values()
    assert reason == "training resumed at step 1000, after step 10"


def test_timed_window_begins_and_ends_between_steps() -> None:
    plan = (Window(PYTHON, num_steps=1, start_seconds=0.0, duration_seconds=0.05),)
    with fake_profilers(*ALL) as fakes, watched(profile=plan) as recorded:
        script = Script()
        script.train(1)
        since = recorded.session.clock.seconds()
        while recorded.session.windows.is_open:
            script.train(1)
        assert recorded.session.clock.seconds() - since >= 0.04

    [(_, (first, last))] = windows_of(recorded)
    assert fakes.calls == [("begin", "python", first), ("end", "python", last + 1)]
    assert set(profiled_steps(recorded)) == set(range(first, last + 1))


def test_requested_window_begins_within_two_steps() -> None:
    with fake_profilers(*ALL) as fakes, watched(closely=False) as recorded:
        script = Script()
        script.train(100)  # the request arrives among deferred steps
        requested = recorded.session.windows.request(Window(PYTHON, None, 3, by="user"))
        settle(recorded)
        script.train(100)

    begin, end = fakes.calls
    assert begin[2] is not None
    assert 100 <= begin[2] <= 102
    assert (end[2], requested[0].began) == (begin[2] + 3, begin[2])
    assert set(profiled_steps(recorded)) == {begin[2], begin[2] + 1, begin[2] + 2}


def test_evaluation_in_a_window_is_marked_as_profiled() -> None:
    with fake_profilers(*ALL), watched(profile=(Window(PYTHON, 1, 2),)) as recorded:
        script = Script()
        script.train(2)
        script.evaluate(3)
        script.train(3)

    rows = [row for row in recorded.rows["events"] if row["category"] == "step"]
    marked = [(row["mode"], row["step"]) for row in rows if "profiled" in row["detail"]]
    assert marked == [("train", 1), *(("eval", step) for step in range(3)), ("train", 2)]


def test_time_to_start_and_stop_a_profiler_belongs_to_no_step() -> None:
    with fake_profilers(*ALL) as fakes, watched(profile=(Window(PYTHON, 3, 1),)) as recorded:
        fakes.seconds = 1.0
        Script().train(8)

    steps = {row["step"]: row for row in recorded.rows["events"] if row["category"] == "step"}
    assert all(row["duration_ns"] < 900_000_000 for row in steps.values())
    gap_ns = steps[4]["start_ns"] - steps[3]["start_ns"] - steps[3]["duration_ns"]
    assert gap_ns >= 1_000_000_000
    assert recorded.session.overhead.budget.hook_seconds < 1
    [row] = [row for row in recorded.rows["events"] if row["category"] == "window"]
    assert json.loads(row["detail"])["cost_seconds"] >= 2


def test_every_step_that_overlaps_a_window_is_marked_with_several_optimizers() -> None:
    with fake_profilers(*ALL), watched(profile=(Window(PYTHON, 3, 2),)) as recorded:
        generator, critic = Script(), Script()
        for _ in range(10):
            generator.train(1)
            critic.train(1)

    [(_, (first, last))] = windows_of(recorded)
    assert (first, last) == (3, 4)
    assert set(profiled_steps(recorded)) == {3, 4, 5}


def test_changed_plan_applies_to_future_steps() -> None:
    with fake_profilers(*ALL) as fakes, watched(profile=DEFAULT_WINDOWS) as recorded:
        script, session = Script(), recorded.session
        script.train(6)
        plan = (Window(OPERATORS, 5, 1), Window(PYTHON, 8, 1))
        session.apply_settings(replace(session.settings, profile=plan))
        session.apply_settings(session.settings)
        script.train(10)

    assert windows_of(recorded) == [("operators", [5, 5]), ("python", [8, 8])]
    assert len(fakes.calls) == 4


def test_long_evaluation_ends_a_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(windows, "_EVALUATION_NS", 1)
    with fake_profilers(*ALL) as fakes, watched(profile=(Window(PYTHON, 1, 5),)) as recorded:
        script = Script()
        script.train(3)
        script.evaluate(3)
        script.train(5)

    assert fakes.calls == [("begin", "python", 1), ("end", "python", 3)]
    assert windows_of(recorded) == [("python", [1, 2])]


def test_open_window_appears_in_the_heartbeat() -> None:
    with fake_profilers(*ALL), watched(profile=(Window(PYTHON, 2, 10),)) as recorded:
        session, script = recorded.session, Script()
        script.train(4)
        settle(recorded)
        key = worker_key(0, 1, 0, "beat")
        running = decode_facts(WorkerBeat, session.store.backend.read(key), key).window
        script.train(10)
        settle(recorded)
        afterwards = decode_facts(WorkerBeat, session.store.backend.read(key), key).window

    assert running is not None
    assert (running.kind, running.first_step, running.last_step) == (PYTHON, 2, 11)
    assert afterwards is None


@pytest.mark.parametrize("has_framework", [True, False])
def test_refused_default_window_is_reported_if_a_framework_is_loaded(has_framework: bool) -> None:
    with fake_profilers("python") as fakes, watched(profile=DEFAULT_WINDOWS) as recorded:
        if not has_framework:
            recorded.session.frameworks.adapters.clear()
        fakes.refusal = "another tool is profiling"
        Script().train(12)

    notices = {"python profile": "another tool is profiling"}
    assert recorded.notices() == (notices if has_framework else {})


def test_script_without_a_framework_gets_only_the_python_window() -> None:
    with fake_profilers(*ALL) as fakes, watched(profile=DEFAULT_WINDOWS) as recorded:
        recorded.session.frameworks.adapters.clear()
        Script().train(20)

    assert fakes.prepared == ["python"]
    assert windows_of(recorded) == [("python", [9, 11])]
    assert recorded.notices() == {}
