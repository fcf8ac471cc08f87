"""The script's own profiler comes first, whenever it is switched on."""

import os
import threading
from typing import Any

import pytest
import torch
from torch._C._autograd import _profiler_enabled
from torch.autograd import profiler

from sonde.hook.torch.profiler import kineto
from sonde.hook.torch.profiler.kineto import Kineto, Wanted
from sonde.hook.torch.profiler.other_profilers import OtherProfilers
from sonde.records.profile import ProfileKind, Window
from tests.fakes.session import watched
from tests.hook.profilers.test_operators import Script, named, traces_of

WINDOW = Window(ProfileKind.OPERATORS, start_step=2, num_steps=2, by="request")
WHAT = "all of a profile of operators at step 2"


def own() -> Any:
    return profiler.profile(use_kineto=True)


def count(profile: Any, name: str) -> int:
    return sum(one.name == name for one in profile.function_events)


def test_while_the_script_profiles_itself_there_is_no_window() -> None:
    with watched(profile=(WINDOW,)) as recorded, own() as theirs:
        Script().run()

    assert traces_of(recorded) == []
    assert recorded.said()["a profile of operators"] == "another profiler of PyTorch is at work"
    assert count(theirs, "aten::addmm") == 12


def test_a_profiler_that_warms_up_is_at_work() -> None:
    theirs: Any = torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=0, warmup=4, active=1, repeat=1),
        acc_events=True,
    )
    with watched(profile=(WINDOW,)) as recorded, theirs:
        Script().run(dict.fromkeys(range(6), theirs.step))

    assert traces_of(recorded) == []
    assert sum(one.name == "AddmmBackward0" for one in theirs.events()) == 2


@pytest.mark.parametrize("by", ["plan", "request"])
def test_who_has_profiled_itself_is_profiled_only_when_somebody_asks_for_it(by: str) -> None:
    window = Window(ProfileKind.OPERATORS, start_step=2, by=by)
    with watched(profile=(window,)) as recorded:
        with own():
            torch.ones(3).add(1)
        Script().run()

    assert len(traces_of(recorded)) == (by == "request")
    is_said = recorded.said().get("a profile of operators") == "the script profiles itself"
    assert is_said == (by == "plan")


def test_a_profiler_that_is_started_in_a_window_ends_it_and_sees_everything() -> None:
    theirs = own()
    with watched(profile=(WINDOW,)) as recorded:
        Script().run({3: theirs.__enter__, 5: lambda: theirs.__exit__(None, None, None)})

    [(facts, events)] = traces_of(recorded)
    assert len(named(events, "AddmmBackward0")) == 2
    assert len(facts["anchors"]) == 2
    assert recorded.said()[WHAT].startswith("it ended early")
    assert count(theirs, "AddmmBackward0") == 4


def test_a_profiler_of_another_thread_waits_until_the_window_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, is_waiting, wait = [], threading.Event(), Kineto.wait

    def noted(waited_for: Kineto, seconds: float) -> bool:
        is_waiting.set()
        return wait(waited_for, seconds)

    def start() -> None:
        thread.start()
        is_waiting.wait()

    def profile_itself() -> None:
        with own() as theirs:
            torch.ones(3).add(1)
        seen.append(count(theirs, "aten::add"))

    thread = threading.Thread(target=profile_itself)
    monkeypatch.setattr(Kineto, "wait", noted)
    with watched(profile=(WINDOW,)) as recorded:
        Script().run({2: start})
        thread.join()

    [(_, events)] = traces_of(recorded)
    assert len(named(events, "AddmmBackward0")) == 2
    assert recorded.said()[WHAT].startswith("it ended early")
    assert seen == [1]


def test_a_process_under_a_profiler_of_cuda_keeps_it_to_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/somewhere")
    monkeypatch.setattr(kineto, "_is_in_use", lambda: True)

    refusal = Kineto(OtherProfilers()).start(Wanted(device=True))

    assert refusal == "the process runs under a profiler of CUDA"


def test_a_recording_leaves_nothing_behind_and_the_environment_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KINETO_LOG_LEVEL", raising=False)
    profile = Kineto(OtherProfilers())
    assert profile.start(Wanted()) is None
    profile.stop()

    assert not profile.is_on
    assert not _profiler_enabled()
    assert "KINETO_LOG_LEVEL" not in os.environ
