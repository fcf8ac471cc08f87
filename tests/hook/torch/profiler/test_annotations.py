"""Module names in traces, with compiled, scripted and unusual modules."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from sonde.hook.torch.profiler.annotations import _Calls
from sonde.records.profile import ProfileKind, Window
from tests.fakes.session import watched
from tests.hook.profilers.test_operators import Model, Script, traces_of

WINDOW = Window(ProfileKind.OPERATORS, start_step=2, num_steps=2)
PREFIX = "sonde.module."


@pytest.fixture(autouse=True)
def new_compiler() -> Iterator[None]:
    """Reset the compiler after each test."""
    yield
    torch._dynamo.reset()


class Counting:
    """A compiler backend that only counts compilations."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, graph: Any, _inputs: Any) -> Callable[..., Any]:
        self.count += 1
        return graph.forward  # type: ignore[no-any-return]


def compiled_model(model: nn.Module, backend: Counting) -> Any:
    return torch.compile(model, backend=backend, fullgraph=True)


def in_place(model: nn.Module, backend: Counting) -> Any:
    model.compile(backend=backend)
    return model


def compiled_layer(model: Any, backend: Counting) -> Any:
    model.rest = torch.compile(model.rest, backend=backend)
    return model


def function(model: nn.Module, backend: Counting) -> Any:
    def call(features: torch.Tensor) -> Any:
        return model(features)

    return torch.compile(call, backend=backend)


COMPILED = {
    "whole": compiled_model,
    "in_place": in_place,
    "part": compiled_layer,
    "function": function,
}


def names_in(recorded: Any) -> set[str]:
    [(_, events)] = traces_of(recorded)
    names = {event["name"] for event in events if event["name"].startswith(PREFIX)}
    return {name.removeprefix(PREFIX) for name in names}


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # of the compiler itself
@pytest.mark.parametrize("region", COMPILED)
@pytest.mark.parametrize("first", [0, 2])  # the first step is the one that compiles
def test_a_compiled_region_is_not_annotated_or_recompiled(region: str, first: int) -> None:
    backend = Counting()
    with watched(profile=(Window(ProfileKind.OPERATORS, first, 2),)) as recorded:
        Script(lambda model: COMPILED[region](model, backend)).run()

    assert backend.count == 1
    assert names_in(recorded) == ({"first", "rest"} if region == "part" else set())


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_a_graph_break_causes_no_extra_compilation() -> None:
    class Broken(Model):
        def forward(self, features: torch.Tensor) -> torch.Tensor:
            hidden = self.first(features)
            torch._dynamo.graph_break()
            result: torch.Tensor = self.rest(hidden)
            return result

    def frames(first: int) -> int:
        torch._dynamo.reset()
        backend = Counting()
        with watched(profile=(Window(ProfileKind.OPERATORS, first, 2),)):
            script = Script()
            script.module = script.model = torch.compile(Broken(), backend=backend)
            script.optimizer = torch.optim.SGD(script.module.parameters(), lr=0.1)
            script.run()
        return backend.count

    unprofiled = frames(100)
    assert frames(0) == frames(2) == unprofiled


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_traced_model_holds_no_annotation() -> None:
    traced = []

    def trace() -> None:
        make: Any = torch.jit.trace
        traced.append(make(script.module.rest[2], torch.randn(5, 8)))

    with watched(profile=(WINDOW,)):
        script = Script()
        script.run({2: trace})

    assert "record_function" not in str(traced[0].graph)


def test_function_transforms_of_modules_still_work() -> None:
    results: list[torch.Tensor] = []

    def transform() -> None:
        module = script.module.first
        results.append(torch.vmap(module)(torch.ones(5, 4)))
        results.append(torch.func.grad(lambda row: module(row).sum())(torch.ones(4)))

    with watched(profile=(WINDOW,)):
        script = Script()
        script.run({2: transform})

    assert [tensor.shape for tensor in results] == [(5, 8), (4,)]


def test_a_mode_of_the_script_sees_only_its_own_operators() -> None:
    class Noting(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            operators.append(str(func))
            return func(*args, **(kwargs or {}))

    operators: list[str] = []

    def count() -> None:
        with Noting():  # type: ignore[no-untyped-call]
            script.module.rest[2](torch.ones(5, 8))

    with watched(profile=(WINDOW,)):
        script = Script()
        script.run({2: count})

    assert operators
    assert not any("record_function" in name for name in operators)


def test_layers_still_use_their_fast_path_without_hooks() -> None:
    def evaluated(first: int) -> torch.Tensor:
        outputs: list[torch.Tensor] = []

        def evaluate() -> None:
            layer.eval()
            with torch.no_grad():
                outputs.append(layer(torch.ones(2, 3, 8)))

        with watched(profile=(Window(ProfileKind.OPERATORS, first, 2),)):
            torch.manual_seed(0)
            layer: Any = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
            holder = nn.ModuleDict({"layer": layer})
            script = Script()
            script.run({2: evaluate})
            assert holder
        return outputs[0]

    assert torch.equal(evaluated(2), evaluated(100))


def test_a_module_call_replaced_by_the_script_in_a_window_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []
    monkeypatch.setattr(nn.Module, "__call__", nn.Module.__call__)  # restored after the test
    monkeypatch.setattr(_Calls, "is_kept", False)

    def replace() -> None:
        before: Any = nn.Module.__call__

        def script_call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            calls.append(module)
            return before(module, *args, **kwargs)

        nn.Module.__call__ = script_call  # type: ignore[method-assign]

    later = Window(ProfileKind.OPERATORS, start_step=5, num_steps=1)
    with watched(profile=(WINDOW, later)) as recorded:
        Script().run({2: replace})

    assert len(calls) == 3 * 6
    assert len(traces_of(recorded)) == 2


def test_nothing_is_annotated_while_a_cuda_graph_is_recorded() -> None:
    def capture() -> None:
        recorded.session.hold()
        script.module.rest[2](torch.ones(5, 8))
        recorded.session.release()

    with watched(profile=(Window(ProfileKind.OPERATORS, start_step=2, num_steps=1),)) as recorded:
        script = Script()
        script.run({2: capture})

    [(_, events)] = traces_of(recorded)
    assert sum(event["name"] == f"{PREFIX}rest.2" for event in events) == 1
    assert sum(event["name"] == "aten::addmm" for event in events) == 3


def test_calls_in_other_threads_are_not_annotated() -> None:
    def call() -> None:
        thread = threading.Thread(target=script.module.first, args=(torch.ones(5, 4),))
        thread.start()
        thread.join()

    with watched(profile=(Window(ProfileKind.OPERATORS, start_step=2, num_steps=1),)) as recorded:
        script = Script()
        script.run({2: call})

    [(_, events)] = traces_of(recorded)
    assert sum(event["name"] == f"{PREFIX}first" for event in events) == 1
