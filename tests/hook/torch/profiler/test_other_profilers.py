"""The script's profiler takes precedence over Sonde's."""

import os
import threading
from typing import Any

import pytest
import torch
from torch._C._autograd import _profiler_enabled
from torch.autograd import profiler

from sonde.hook.torch.profiler import kineto
from sonde.hook.torch.profiler.kineto import Kineto, TraceOptions
from sonde.hook.torch.profiler.other_profilers import OtherProfilers
from sonde.records.profile import ProfileKind, Window
from tests.fakes.session import watched
from tests.hook.profilers.test_operators import Script, named, traces_of

WINDOW = Window(ProfileKind.OPERATORS, start_step=2, num_steps=2, by="request")
WHAT = "complete operators profile at step 2"


def script_profiler() -> Any:
    return profiler.profile(use_kineto=True)


def count(profile: Any, name: str) -> int:
    return sum(event.name == name for event in profile.function_events)


def test_no_window_opens_while_the_script_uses_a_profiler() -> None:
    with watched(profile=(WINDOW,)) as recorded, script_profiler() as theirs:
        Script().run()

    assert traces_of(recorded) == []
    assert recorded.notices()["operators profile"] == "another PyTorch profiler is active"
    assert count(theirs, "aten::addmm") == 12


def test_a_profiler_in_its_warm_up_is_active() -> None:
    theirs: Any = torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=0, warmup=4, active=1, repeat=1),
        acc_events=True,
    )
    with watched(profile=(WINDOW,)) as recorded, theirs:
        Script().run(dict.fromkeys(range(6), theirs.step))

    assert traces_of(recorded) == []
    assert sum(profiler.name == "AddmmBackward0" for profiler in theirs.events()) == 2


@pytest.mark.parametrize("by", ["plan", "request"])
def test_scripts_with_a_profiler_are_profiled_only_on_request(by: str) -> None:
    window = Window(ProfileKind.OPERATORS, start_step=2, by=by)
    with watched(profile=(window,)) as recorded:
        with script_profiler():
            torch.ones(3).add(1)
        Script().run()

    assert len(traces_of(recorded)) == (by == "request")
    is_reported = (
        recorded.notices().get("operators profile") == "the script uses PyTorch's profiler"
    )
    assert is_reported == (by == "plan")


def test_a_profiler_started_during_a_window_ends_it_and_records_everything() -> None:
    theirs = script_profiler()
    with watched(profile=(WINDOW,)) as recorded:
        Script().run({3: theirs.__enter__, 5: lambda: theirs.__exit__(None, None, None)})

    [(facts, events)] = traces_of(recorded)
    assert len(named(events, "AddmmBackward0")) == 2
    assert len(facts["anchors"]) == 2
    assert recorded.notices()[WHAT].startswith("recording stopped early")
    assert count(theirs, "AddmmBackward0") == 4


def test_a_profiler_in_another_thread_waits_for_the_window_to_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded_events, is_waiting, wait = [], threading.Event(), Kineto.wait

    def noting_wait(kineto: Kineto, seconds: float) -> bool:
        is_waiting.set()
        return wait(kineto, seconds)

    def start() -> None:
        thread.start()
        is_waiting.wait()

    def profile_in_thread() -> None:
        with script_profiler() as theirs:
            torch.ones(3).add(1)
        recorded_events.append(count(theirs, "aten::add"))

    thread = threading.Thread(target=profile_in_thread)
    monkeypatch.setattr(Kineto, "wait", noting_wait)
    with watched(profile=(WINDOW,)) as recorded:
        Script().run({2: start})
        thread.join()

    [(_, events)] = traces_of(recorded)
    assert len(named(events, "AddmmBackward0")) == 2
    assert recorded.notices()[WHAT].startswith("recording stopped early")
    assert recorded_events == [1]


def test_a_process_under_a_cuda_profiler_is_not_profiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/somewhere")
    monkeypatch.setattr(kineto, "_is_in_use", lambda: True)

    refusal = Kineto(OtherProfilers()).start(TraceOptions(device=True))

    assert refusal == "the process runs under a CUDA profiler"


def test_a_recording_leaves_the_environment_unchanged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KINETO_LOG_LEVEL", raising=False)
    profile = Kineto(OtherProfilers())
    assert profile.start(TraceOptions()) is None
    profile.stop()

    assert not profile.is_on
    assert not _profiler_enabled()
    assert "KINETO_LOG_LEVEL" not in os.environ
