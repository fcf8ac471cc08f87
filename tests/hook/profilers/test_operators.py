"""Traces of PyTorch's profiler: their contents, and that training is unchanged afterwards."""

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
    """A plain loop that can call functions at given steps."""

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
    """Return the facts and the events of all traces, in order."""
    uri = recorded.session.store.worker.job_uri
    assert uri is not None
    backend = open_backend(uri)
    keys = [entry.key for entry in backend.entries("workers/0/profiles")]
    traces = []
    for key in keys:
        if f"/{kind}-" in key and key.endswith(".facts.json"):
            trace = gzip.decompress(backend.read(key.removesuffix(".facts.json") + ".json.gz"))
            traces.append((json.loads(backend.read(key)), json.loads(trace)["traceEvents"]))
    return traces


def recorded_of(window: Window = WINDOW, **script: Any) -> Trace:
    with watched(profile=(window,)) as recorded:
        Script().run(**script)
    [trace] = traces_of(recorded)
    return trace


def named(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event for event in events if event["name"] == name and event["ph"] == "X"]


def test_only_operators_of_the_windows_steps_are_recorded() -> None:
    _, events = recorded_of()

    assert len(named(events, "aten::addmm")) == 2 * 2  # layers, steps
    assert len(named(events, "AddmmBackward0")) == 2 * 2
    assert len(named(events, "Optimizer.step#SGD.step")) == 2


def test_operators_are_annotated_with_their_modules() -> None:
    _, events = recorded_of()

    annotations = [event["name"] for event in events if event["name"].startswith("sonde.module.")]
    names = ("first", "rest", "rest.0", "rest.1", "rest.2")
    assert sorted(annotations) == sorted(f"sonde.module.{name}" for name in names * 2)
    first, operator = named(events, "sonde.module.first")[0], named(events, "aten::addmm")[0]
    assert {event["cat"] for event in events if event["name"] in annotations} == {"user_annotation"}
    assert first["ts"] <= operator["ts"] <= first["ts"] + first["dur"]


def test_trace_has_clock_markers_at_both_ends() -> None:
    facts, events = recorded_of()

    (first, first_ns), (last, last_ns) = facts["anchors"]
    middles = [
        event["ts"] + event["dur"] / 2 for name in (first, last) for event in named(events, name)
    ]
    lengths = [(middles[1] - middles[0]) * 1000, last_ns - first_ns]
    assert lengths[0] == pytest.approx(lengths[1], abs=2_000_000)
    window = facts["window"]
    assert window["start_ns"] <= first_ns < last_ns <= window["end_ns"]
    between = [event["ts"] for event in events if event.get("cat") == "cpu_op"]
    assert middles[0] < min(between) < max(between) < middles[1]


def test_trace_facts_describe_the_window() -> None:
    facts, _ = recorded_of()

    assert (facts["rank"], facts["device"], facts["keep_trace"]) == (0, "cpu", False)
    assert facts["window"]["first_step"] == FIRST
    assert facts["window"]["kind"] == "operators"


def test_shapes_are_recorded_unless_disabled_and_memory_and_stacks_on_request() -> None:
    options = {"memory": "true", "stacks": "true", "keep_trace": "true"}
    facts, events = recorded_of(Window(ProfileKind.OPERATORS, 2, 1, options=options))
    without_shapes = Window(ProfileKind.OPERATORS, 2, 1, options={"shapes": "false"})
    _, plain = recorded_of(without_shapes)

    assert facts["keep_trace"]
    assert [5, 4] in named(events, "aten::linear")[0]["args"]["Input Dims"]
    assert any(event["name"] == "[memory]" for event in events)
    assert any(event.get("cat") == "python_function" for event in events)
    assert "Input Dims" not in named(plain, "aten::linear")[0]["args"]
    assert not any(event["name"] == "[memory]" for event in plain)


def test_profiling_does_not_change_the_training_result() -> None:
    plain_losses = Script().run()
    with watched(profile=(WINDOW,)):
        script = Script()
        losses = script.run()

    assert losses == plain_losses


def test_no_hooks_remain_after_a_window() -> None:
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


def test_module_annotation_ends_when_an_operator_raises() -> None:
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
        event["ts"] <= outside["ts"] < event["ts"] + event["dur"]
        for event in events
        if event["name"].startswith("sonde.module.")
    )


@pytest.mark.parametrize(("limit", "max_seconds"), [("_MAX_SECONDS", -1.0), ("_MAX_NODES", 3)])
def test_window_ends_early_when_its_trace_grows_too_large(
    monkeypatch: pytest.MonkeyPatch, limit: str, max_seconds: float
) -> None:
    monkeypatch.setattr(trace_window, limit, max_seconds)
    with watched(profile=(WINDOW,)) as recorded:
        Script().run()

    [(facts, events)] = traces_of(recorded)
    assert len(facts["anchors"]) == 2
    assert len(named(events, "aten::addmm")) < 2
    reason = recorded.notices()[f"complete operators profile at step {FIRST}"]
    assert reason.startswith("recording stopped after ")


def test_oversized_trace_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_window, "_MAX_BYTES", 10)
    with watched(profile=(WINDOW,)) as recorded:
        Script().run()

    assert traces_of(recorded) == []
    assert f"complete operators profile at step {FIRST}" in recorded.notices()


def test_unwritable_trace_is_reported_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_window, "TemporaryDirectory", Mock(side_effect=OSError("full")))
    with watched(profile=(WINDOW,)) as recorded:
        Script().run()

    reason = recorded.notices()[f"complete operators profile at step {FIRST}"]
    assert reason.startswith("the trace could not be written")


def test_every_window_writes_a_separate_trace() -> None:
    second = Window(ProfileKind.OPERATORS, start_step=6, num_steps=1)
    with watched(profile=(WINDOW, second)) as recorded:
        Script().run(steps=9)

    steps = [facts["window"]["first_step"] for facts, _ in traces_of(recorded)]
    assert steps == [2, 6]


def test_processes_forked_during_a_window_record_nothing() -> None:
    def load() -> None:
        loader = DataLoader(Calling(script.module.first), num_workers=1)
        assert [bool(batch) for batch in loader] == [True]

    with watched(profile=(WINDOW,)) as recorded:
        script = Script()
        script.run({FIRST: load})

    [(_, events)] = traces_of(recorded)
    assert len(named(events, "aten::addmm")) == 2 * 2


class Calling(Dataset[Any]):
    """Returns whether a module call succeeds without Sonde's wrapper."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> bool:
        self._module(torch.ones(4))
        return "sonde" not in str(nn.Module.__call__.__code__.co_filename)


def test_operator_window_is_refused_without_pytorch() -> None:
    with watched() as recorded:
        session = recorded.session
        session.frameworks.adapters.clear()
        refusals = [kind(session).begin(WINDOW) for kind in (Operators, Memory)]

    assert refusals == ["PyTorch is not recorded in this process"] * 2


class SteppingInBackward(Script):
    """Each parameter has its own optimizer, which steps as soon as the gradient is ready."""

    def __init__(self) -> None:
        super().__init__()
        self.optimizer = Mock()
        for parameter in self.module.parameters():
            stepping = torch.optim.SGD([parameter], lr=0.1)
            parameter.register_post_accumulate_grad_hook(
                lambda _, optimizer=stepping: optimizer.step()
            )


def test_window_never_begins_inside_a_backward_pass() -> None:
    with watched(profile=(WINDOW,)) as recorded:
        SteppingInBackward().run()
    assert traces_of(recorded) == []
    reason = recorded.notices()["operators profile"]
    assert "inside a backward pass" in reason


def test_window_due_to_end_inside_a_backward_pass_ends_after_it() -> None:
    window = Window(ProfileKind.OPERATORS, start_step=0, num_steps=2)
    with watched(profile=(window,)) as recorded:
        SteppingInBackward().run()
    [(_, events)] = traces_of(recorded)
    assert named(events, "aten::linear")
    assert not _profiler_enabled()
