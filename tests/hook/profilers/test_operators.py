"""Traces of PyTorch's own profiler: what is in them, and what is left of them in the training."""

import gzip
import json
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch import nn
from torch._C._autograd import _profiler_enabled
from torch.autograd import profiler
from torch.utils.data import DataLoader, Dataset

from sonde.hook.profilers.memory import Memory
from sonde.hook.profilers.operators import Operators
from sonde.hook.torch.profiler import trace_window
from sonde.records.profile import ProfileKind, Window
from sonde.store.backends import open_backend
from tests.fakes.session import Recorded, watched

FIRST = 2
WINDOW = Window(ProfileKind.OPERATORS, start_step=FIRST, num_steps=2)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.rest = nn.Sequential(nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.rest(self.first(features))
        return result


class Script:
    """A plain loop, with what a test wants to happen at one of its steps."""

    def __init__(self, make: Callable[[nn.Module], Any] = lambda model: model) -> None:
        torch.manual_seed(0)
        self.module: Any = Model()
        self.model = make(self.module)
        self.optimizer: Any = torch.optim.SGD(self.module.parameters(), lr=0.1)

    def run(self, at: dict[int, Callable[[], None]] | None = None, steps: int = 6) -> list[float]:
        losses = []
        for step in range(steps):
            loss = self.model(torch.randn(5, 4)).square().mean()
            (at or {}).get(step, lambda: None)()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            losses.append(loss.item())
        return losses


Trace = tuple[dict[str, Any], list[dict[str, Any]]]


def traces_of(recorded: Recorded, kind: str = "operators") -> list[Trace]:
    """The facts and the events of all traces, in order."""
    uri = recorded.session.store.worker.job_uri
    assert uri is not None
    backend = open_backend(uri)
    keys = [entry.key for entry in backend.entries("workers/0/profiles")]
    found = []
    for key in keys:
        if f"/{kind}-" in key and key.endswith(".facts.json"):
            trace = gzip.decompress(backend.read(key.removesuffix(".facts.json") + ".json.gz"))
            found.append((json.loads(backend.read(key)), json.loads(trace)["traceEvents"]))
    return found


def recorded_of(window: Window = WINDOW, **script: Any) -> Trace:
    with watched(profile=(window,)) as recorded:
        Script().run(**script)
    [trace] = traces_of(recorded)
    return trace


def named(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [one for one in events if one["name"] == name and one["ph"] == "X"]


def test_the_operators_of_the_windows_steps_are_recorded_and_no_others() -> None:
    _, events = recorded_of()

    assert len(named(events, "aten::addmm")) == 2 * 2  # layers, steps
    assert len(named(events, "AddmmBackward0")) == 2 * 2
    assert len(named(events, "Optimizer.step#SGD.step")) == 2


def test_what_modules_compute_has_their_names_around_it() -> None:
    _, events = recorded_of()

    annotations = [one["name"] for one in events if one["name"].startswith("sonde.module.")]
    names = ("first", "rest", "rest.0", "rest.1", "rest.2")
    assert sorted(annotations) == sorted(f"sonde.module.{name}" for name in names * 2)
    first, operator = named(events, "sonde.module.first")[0], named(events, "aten::addmm")[0]
    assert {one["cat"] for one in events if one["name"] in annotations} == {"user_annotation"}
    assert first["ts"] <= operator["ts"] <= first["ts"] + first["dur"]


def test_both_clocks_are_known_at_both_ends() -> None:
    facts, events = recorded_of()

    (first, first_ns), (last, last_ns) = facts["anchors"]
    middles = [one["ts"] + one["dur"] / 2 for name in (first, last) for one in named(events, name)]
    lengths = [(middles[1] - middles[0]) * 1000, last_ns - first_ns]
    assert lengths[0] == pytest.approx(lengths[1], abs=2_000_000)
    window = facts["window"]
    assert window["start_ns"] <= first_ns < last_ns <= window["end_ns"]
    between = [one["ts"] for one in events if one.get("cat") == "cpu_op"]
    assert middles[0] < min(between) < max(between) < middles[1]


def test_the_facts_say_what_the_trace_is_of() -> None:
    facts, _ = recorded_of()

    assert (facts["rank"], facts["device"], facts["keep_trace"]) == (0, "cpu", False)
    assert facts["window"]["first_step"] == FIRST
    assert facts["window"]["kind"] == "operators"


def test_shapes_memory_and_stacks_come_when_they_are_asked_for() -> None:
    asked = {"shapes": "true", "memory": "true", "stacks": "true", "keep_trace": "true"}
    facts, events = recorded_of(Window(ProfileKind.OPERATORS, 2, 1, options=asked))
    _, plain = recorded_of()

    assert facts["keep_trace"]
    assert [5, 4] in named(events, "aten::linear")[0]["args"]["Input Dims"]
    assert any(one["name"] == "[memory]" for one in events)
    assert any(one.get("cat") == "python_function" for one in events)
    assert "Input Dims" not in named(plain, "aten::linear")[0]["args"]
    assert not any(one["name"] == "[memory]" for one in plain)


def test_training_goes_on_exactly_as_without_a_window() -> None:
    without = Script().run()
    with watched(profile=(WINDOW,)):
        script = Script()
        losses = script.run()

    assert losses == without


def test_nothing_is_left_of_a_window_when_it_is_over() -> None:
    Script().run(steps=1)  # the first optimizer loads the compiler
    call, loaded = nn.Module.__call__, set(sys.modules)
    with watched(profile=(WINDOW,)):
        script = Script()
        script.run()

        assert nn.Module.__call__ is call
        assert not _profiler_enabled()
        assert not any(module._forward_hooks for module in script.module.rest)
        assert not profiler._is_profiler_enabled
    assert not {name for name in set(sys.modules) - loaded if name.startswith("torch._inductor")}


def test_an_operator_that_raises_leaves_its_module() -> None:
    def raise_inside() -> None:
        with pytest.raises(RuntimeError):
            script.module(torch.randn(5, 99))

    with watched(profile=(WINDOW,)) as recorded:
        script = Script()
        script.run({FIRST: raise_inside})

    [(_, events)] = traces_of(recorded)
    assert len(named(events, "sonde.module.first")) == 3
    outside = named(events, "AddmmBackward0")[0]
    assert not any(
        one["ts"] <= outside["ts"] < one["ts"] + one["dur"]
        for one in events
        if one["name"].startswith("sonde.module.")
    )


@pytest.mark.parametrize(("limit", "most"), [("_MAX_SECONDS", -1.0), ("_MAX_NODES", 3)])
def test_a_window_whose_trace_grows_too_large_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: float
) -> None:
    monkeypatch.setattr(trace_window, limit, most)
    with watched(profile=(WINDOW,)) as recorded:
        Script().run()

    [(facts, events)] = traces_of(recorded)
    assert len(facts["anchors"]) == 2
    assert len(named(events, "aten::addmm")) < 2
    reason = recorded.said()[f"complete operators profile at step {FIRST}"]
    assert reason.startswith("recording stopped after ")


def test_a_trace_that_is_too_large_to_be_kept_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_window, "_MAX_BYTES", 10)
    with watched(profile=(WINDOW,)) as recorded:
        Script().run()

    assert traces_of(recorded) == []
    assert f"complete operators profile at step {FIRST}" in recorded.said()


def test_a_trace_that_cannot_be_written_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_window, "TemporaryDirectory", Mock(side_effect=OSError("full")))
    with watched(profile=(WINDOW,)) as recorded:
        Script().run()

    said = recorded.said()[f"complete operators profile at step {FIRST}"]
    assert said.startswith("the trace could not be written")


def test_every_window_has_a_trace_of_its_own() -> None:
    again = Window(ProfileKind.OPERATORS, start_step=6, num_steps=1)
    with watched(profile=(WINDOW, again)) as recorded:
        Script().run(steps=9)

    steps = [facts["window"]["first_step"] for facts, _ in traces_of(recorded)]
    assert steps == [2, 6]


def test_processes_that_are_forked_in_a_window_record_nothing() -> None:
    def load() -> None:
        loader = DataLoader(Calling(script.module.first), num_workers=1)
        assert [bool(one) for one in loader] == [True]

    with watched(profile=(WINDOW,)) as recorded:
        script = Script()
        script.run({FIRST: load})

    [(_, events)] = traces_of(recorded)
    assert len(named(events, "aten::addmm")) == 2 * 2


class Calling(Dataset[Any]):
    """Says whether a module can be called where nothing of ours is left."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> bool:
        self._module(torch.ones(4))
        return "sonde" not in str(nn.Module.__call__.__code__.co_filename)


def test_without_pytorch_there_is_no_window() -> None:
    with watched() as recorded:
        session = recorded.session
        session.frameworks.adapters.clear()
        refusals = [kind(session).begin(WINDOW) for kind in (Operators, Memory)]

    assert refusals == ["PyTorch is not recorded in this process"] * 2


class SteppingInBackward(Script):
    """Each parameter has an optimizer of its own, which steps as soon as its gradient is there."""

    def __init__(self) -> None:
        super().__init__()
        self.optimizer = Mock()
        for one in self.module.parameters():
            stepping = torch.optim.SGD([one], lr=0.1)
            one.register_post_accumulate_grad_hook(lambda _, own=stepping: own.step())


def test_a_window_never_begins_inside_a_backward_pass() -> None:
    with watched(profile=(WINDOW,)) as recorded:
        SteppingInBackward().run()
    assert traces_of(recorded) == []
    reason = recorded.said()["operators profile"]
    assert "inside a backward pass" in reason


def test_a_window_that_would_end_inside_a_backward_pass_ends_after_it() -> None:
    window = Window(ProfileKind.OPERATORS, start_step=0, num_steps=2)
    with watched(profile=(window,)) as recorded:
        SteppingInBackward().run()
    [(_, events)] = traces_of(recorded)
    assert named(events, "aten::linear")
    assert not _profiler_enabled()
