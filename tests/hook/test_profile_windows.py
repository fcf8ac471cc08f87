"""Windows in which profilers look deeper: when they begin, when they end, and what they cost."""

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
    """A loop that evaluates, too."""

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
    return {step: one["profiled"] for step, one in details.items() if "profiled" in one}


@pytest.mark.parametrize("closely", [True, False], ids=["closely", "quietly"])
def test_the_usual_windows_are_at_the_steps_of_the_plan(closely: bool) -> None:
    with (
        fake_profilers(*ALL) as told,
        watched(profile=DEFAULT_WINDOWS, closely=closely) as recorded,
    ):
        Script().train(40)

    assert told.calls == [
        ("begin", "operators", 5),
        ("end", "operators", 6),
        ("begin", "dataloader", 7),
        ("end", "dataloader", 8),
        ("begin", "python", 9),
        ("end", "python", 12),
    ]
    assert told.prepared == list(ALL)
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
def test_a_usual_window_goes_on_until_it_has_seen_enough_but_not_for_ever(
    enough_at: int, last: int
) -> None:
    with fake_profilers("python") as told, watched(profile=DEFAULT_WINDOWS) as recorded:
        told.enough_at = enough_at
        Script().train(60)

    assert windows_of(recorded) == [("python", [9, last])]


def test_a_window_that_was_asked_for_has_the_steps_that_were_asked_for() -> None:
    with fake_profilers("python") as told, watched(profile=(Window(PYTHON, 2, 3),)) as recorded:
        told.enough_at = 1000
        Script().train(20)

    assert windows_of(recorded) == [("python", [2, 4])]


def test_a_usual_window_makes_room_for_the_next_one() -> None:
    plan = (*DEFAULT_WINDOWS, Window(ProfileKind.MEMORY, 15, 1))
    with fake_profilers("python", "memory") as told, watched(profile=plan) as recorded:
        told.enough_at = 1000
        Script().train(20)

    assert windows_of(recorded) == [("python", [9, 13]), ("memory", [15, 15])]


def test_a_window_may_begin_with_the_first_step() -> None:
    with (
        fake_profilers("python") as told,
        watched(profile=(Window(PYTHON, 0, 2),)) as recorded,
    ):
        Script().train(4)

    assert told.calls == [("begin", "python", 0), ("end", "python", 2)]
    assert windows_of(recorded) == [("python", [0, 1])]


def test_windows_that_overlap_follow_each_other() -> None:
    plan = (Window(OPERATORS, 3, 4), Window(PYTHON, 4, 2), Window(OPERATORS, 4, 1))
    with fake_profilers(*ALL) as told, watched(profile=plan) as recorded:
        script = Script()
        script.train(8)
        settle(recorded)
        script.train(4)
        settle(recorded)
        script.train(4)

    assert [call[:2] for call in told.calls] == [
        *(("begin", "operators"), ("end", "operators")),
        *(("begin", "python"), ("end", "python")),
        *(("begin", "operators"), ("end", "operators")),
    ]
    steps = [steps for _, steps in windows_of(recorded)]
    assert all(first[1] + 1 < second[0] for first, second in pairwise(steps)), "a step lies between"
    assert steps[0] == [3, 6]


def settle(recorded: Recorded) -> None:
    """What the backroom was handed is done afterwards."""
    done = threading.Event()
    recorded.session.worker_thread.submit("test", done.set)
    assert done.wait(30)


def test_a_window_that_training_leaves_open_is_ended_with_it() -> None:
    with fake_profilers(*ALL) as told, watched(profile=(Window(PYTHON, 2, 100),)) as recorded:
        Script().train(5)

    assert told.calls == [("begin", "python", 2), ("end", "python", 5)]
    [row] = [row for row in recorded.rows["events"] if row["category"] == "window"]
    assert json.loads(row["detail"])["cut"] == "training ended"


def test_a_profiler_that_refuses_says_why_and_the_others_go_on() -> None:
    plan = (Window(OPERATORS, 2, 1), Window(PYTHON, 4, 1))
    with fake_profilers(*ALL) as told, watched(profile=plan) as recorded:
        told.refusal = "another profiler is running"
        script = Script()
        script.train(3)
        told.refusal = None
        script.train(4)

    assert windows_of(recorded) == [("python", [4, 4])]
    assert recorded.said() == {"operators profile": "another profiler is running"}


@pytest.mark.parametrize("call", ["prepare", "begin", "end"])
def test_a_profiler_that_raises_is_switched_off_alone(call: str) -> None:
    plan = (Window(OPERATORS, 2, 1), Window(OPERATORS, 5, 1))
    with fake_profilers(*ALL) as told, watched(profile=plan) as recorded:
        told.failing = call
        Script().train(8)
        failed = dict(recorded.session.guard.failed)
        recorded.session.guard.failed.clear()

    assert list(failed) == ["operators profiler"]
    assert recorded.said() == {"operators profiler": f"ValueError: no {call} today"}
    assert recorded.session.steps.counts["train"] == 8
    assert len(recorded.scalars("loss")) == 8


def test_a_kind_that_nobody_has_written_is_missed_only_by_who_asks_for_it() -> None:
    plan = (*DEFAULT_WINDOWS, Window(ProfileKind.MEMORY, 3, 1))
    with fake_profilers("python"), watched(profile=plan) as recorded:
        Script().train(15)

    assert windows_of(recorded) == [("python", [9, 11])]
    assert recorded.said() == {"memory profile": "no memory profiler is available"}


def test_what_a_window_costs_is_recorded_and_is_no_cost_of_the_hook() -> None:
    with fake_profilers(*ALL), watched(profile=(Window(PYTHON, 2, 1),)) as recorded:
        Script().train(6)

    [row] = [row for row in recorded.rows["events"] if row["category"] == "window"]
    assert 0 < json.loads(row["detail"])["cost_seconds"] < row["duration_ns"]
    assert recorded.session.windows.running is None


def test_a_forked_child_has_no_window_of_its_parent() -> None:
    with fake_profilers(*ALL) as told, watched(profile=(Window(PYTHON, 2, 100),)) as recorded:
        Script().train(4)
        settle(recorded)
        of_parent = recorded.session.worker_thread
        recorded.session.reset()
        assert not recorded.session.windows.is_open
        of_parent.close(10.0)

    assert told.calls == [("begin", "python", 2)]


def test_the_usual_windows_count_from_where_training_was_resumed() -> None:
    with fake_profilers(*ALL) as told, watched(profile=DEFAULT_WINDOWS) as recorded:
        script = Script()
        recorded.session.steps.resume_at(1000)
        script.train(14)

    assert windows_of(recorded)[0] == ("operators", [1005, 1005])
    assert windows_of(recorded)[-1] == ("python", [1009, 1011])
    assert told.calls[0] == ("begin", "operators", 1005)


def test_a_planned_window_that_was_over_before_is_said() -> None:
    plan = (Window(PYTHON, 10, 1), Window(OPERATORS, 1002, 1))
    with fake_profilers(*ALL), watched(profile=plan) as recorded:
        script = Script()
        recorded.session.steps.resume_at(1000)
        script.train(6)

    assert windows_of(recorded) == [("operators", [1002, 1002])]
    [said] = recorded.said().values()
    assert said == "training resumed at step 1000, after step 10"


def test_a_window_by_time_begins_and_ends_after_the_steps_that_pass_its_times() -> None:
    plan = (Window(PYTHON, num_steps=1, start_seconds=0.0, duration_seconds=0.05),)
    with fake_profilers(*ALL) as told, watched(profile=plan) as recorded:
        script = Script()
        script.train(1)
        since = recorded.session.clock.seconds()
        while recorded.session.windows.is_open:
            script.train(1)
        assert recorded.session.clock.seconds() - since >= 0.04

    [(_, (first, last))] = windows_of(recorded)
    assert told.calls == [("begin", "python", first), ("end", "python", last + 1)]
    assert set(profiled_steps(recorded)) == set(range(first, last + 1))


def test_a_window_that_is_asked_for_begins_within_two_steps() -> None:
    with fake_profilers(*ALL) as told, watched(closely=False) as recorded:
        script = Script()
        script.train(100)  # in the middle of quiet ones
        asked = recorded.session.windows.request(Window(PYTHON, None, 3, by="somebody"))
        settle(recorded)
        script.train(100)

    begin, end = told.calls
    assert begin[2] is not None
    assert 100 <= begin[2] <= 102
    assert (end[2], asked[0].began) == (begin[2] + 3, begin[2])
    assert set(profiled_steps(recorded)) == {begin[2], begin[2] + 1, begin[2] + 2}


def test_an_evaluation_in_a_window_is_marked_too() -> None:
    with fake_profilers(*ALL), watched(profile=(Window(PYTHON, 1, 2),)) as recorded:
        script = Script()
        script.train(2)
        script.evaluate(3)
        script.train(3)

    rows = [row for row in recorded.rows["events"] if row["category"] == "step"]
    marked = [(row["mode"], row["step"]) for row in rows if "profiled" in row["detail"]]
    assert marked == [("train", 1), *(("eval", step) for step in range(3)), ("train", 2)]


def test_what_it_takes_to_switch_a_profiler_belongs_to_no_step() -> None:
    with fake_profilers(*ALL) as told, watched(profile=(Window(PYTHON, 3, 1),)) as recorded:
        told.seconds = 1.0
        Script().train(8)

    steps = {row["step"]: row for row in recorded.rows["events"] if row["category"] == "step"}
    assert all(row["duration_ns"] < 900_000_000 for row in steps.values())
    apart = steps[4]["start_ns"] - steps[3]["start_ns"] - steps[3]["duration_ns"]
    assert apart >= 1_000_000_000
    assert recorded.session.overhead.budget.hook_seconds < 1
    [row] = [row for row in recorded.rows["events"] if row["category"] == "window"]
    assert json.loads(row["detail"])["cost_seconds"] >= 2


def test_a_loop_of_several_optimizers_marks_every_step_that_was_under_way() -> None:
    with fake_profilers(*ALL), watched(profile=(Window(PYTHON, 3, 2),)) as recorded:
        one, two = Script(), Script()
        for _ in range(10):
            one.train(1)
            two.train(1)

    [(_, (first, last))] = windows_of(recorded)
    assert (first, last) == (3, 4)
    assert set(profiled_steps(recorded)) == {3, 4, 5}


def test_a_plan_that_changes_holds_as_far_as_it_lies_ahead() -> None:
    with fake_profilers(*ALL) as told, watched(profile=DEFAULT_WINDOWS) as recorded:
        script, session = Script(), recorded.session
        script.train(6)
        plan = (Window(OPERATORS, 5, 1), Window(PYTHON, 8, 1))
        session.apply_settings(replace(session.settings, profile=plan))
        session.apply_settings(session.settings)
        script.train(10)

    assert windows_of(recorded) == [("operators", [5, 5]), ("python", [8, 8])]
    assert len(told.calls) == 4


def test_an_evaluation_that_takes_long_ends_a_window_of_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(windows, "_EVALUATION_NS", 1)
    with fake_profilers(*ALL) as told, watched(profile=(Window(PYTHON, 1, 5),)) as recorded:
        script = Script()
        script.train(3)
        script.evaluate(3)
        script.train(5)

    assert told.calls == [("begin", "python", 1), ("end", "python", 3)]
    assert windows_of(recorded) == [("python", [1, 2])]


def test_an_open_window_is_told_to_those_who_watch() -> None:
    with fake_profilers(*ALL), watched(profile=(Window(PYTHON, 2, 10),)) as recorded:
        session, script = recorded.session, Script()
        script.train(4)
        settle(recorded)
        key = worker_key(0, 1, 0, "beat")
        open_one = decode_facts(WorkerBeat, session.store.backend.read(key), key).window
        script.train(10)
        settle(recorded)
        afterwards = decode_facts(WorkerBeat, session.store.backend.read(key), key).window

    assert open_one is not None
    assert (open_one.kind, open_one.first_step, open_one.last_step) == (PYTHON, 2, 11)
    assert afterwards is None


@pytest.mark.parametrize("has_framework", [True, False])
def test_a_usual_window_that_is_refused_is_missed_where_a_framework_is(has_framework: bool) -> None:
    with fake_profilers("python") as told, watched(profile=DEFAULT_WINDOWS) as recorded:
        if not has_framework:
            recorded.session.frameworks.adapters.clear()
        told.refusal = "another tool is profiling"
        Script().train(12)

    said = {"python profile": "another tool is profiling"}
    assert recorded.said() == (said if has_framework else {})


def test_a_script_without_a_framework_is_only_asked_for_its_python() -> None:
    with fake_profilers(*ALL) as told, watched(profile=DEFAULT_WINDOWS) as recorded:
        recorded.session.frameworks.adapters.clear()
        Script().train(20)

    assert told.prepared == ["python"]
    assert windows_of(recorded) == [("python", [9, 11])]
    assert recorded.said() == {}
