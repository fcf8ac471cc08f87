"""Activation functions called as functions are recorded on request, without side effects."""

import io
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional
from torch import Tensor, nn
from torch.func import grad, vmap

from tests.fakes.session import Recorded, watched
from tests.hook.torch import scripted

ALL = ("activations", "relu_input:values", "relu_output:values", "tanh_input", "sigmoid_input")
functional: Any = torch.nn.functional


class Inner(nn.Module):
    """Calls functions, directly and through a method and a helper."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.act = nn.ReLU()

    def squash(self, batch: Tensor) -> Tensor:
        return batch.tanh()

    def forward(self, batch: Tensor) -> Tensor:
        hidden = self.act(self.layer(batch))
        return self.squash(functional.relu(hidden) + torch.relu(-hidden))


class Model(nn.Module):
    """Calls functions itself and through a submodule."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, batch: Tensor) -> Any:
        return functional.gelu(self.inner(batch)) + torch.sigmoid(batch) + functional.silu(batch)


def train(network: Any, model: nn.Module, steps: int = 1) -> list[Tensor]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    outputs = []
    for step in range(steps):
        output = network(torch.full((2, 3), float(step)))
        output.sum().backward()
        optimizer.step()
        outputs.append(output.detach())
    return outputs


def names(recorded: Recorded, step: int = 0) -> set[str]:
    return set(recorded.statistics(step=step))


def test_calls_are_named_after_the_module_and_the_function() -> None:
    with watched(*ALL) as recorded:
        model = Model()
        train(model, model)

    assert names(recorded) == {
        *("inner.act_input_0", "inner.act_output_0"),
        *("inner.relu_input_0", "inner.relu_output_0"),
        *("inner.relu_input_1", "inner.relu_output_1"),
        *("inner.tanh_input_0", "inner.tanh_output_0"),
        *("gelu_output_0", "sigmoid_input_0", "sigmoid_output_0", "silu_output_0"),
    }


def test_functions_are_replaced_only_if_activations_are_requested() -> None:
    functions = [torch.relu, functional.gelu, functional.silu]
    with watched("weights"):
        assert functions == [torch.relu, functional.gelu, functional.silu]
        assert "tanh" not in vars(Tensor)
    with watched("activations"):
        assert functions != [torch.relu, functional.gelu, functional.silu]
        assert "tanh" in vars(Tensor)
    assert functions == [torch.relu, functional.gelu, functional.silu]
    assert "tanh" not in vars(Tensor)


def test_the_input_of_an_in_place_function_is_copied_before_the_call() -> None:
    class InPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, batch: Tensor) -> Any:
            return functional.relu(self.layer(batch), inplace=True)

    with watched(*ALL) as recorded:
        model = InPlace()
        expected = model.layer(torch.zeros(2, 3)).detach().numpy()
        train(model, model)

    values = recorded.values["train", 0]
    assert np.array_equal(values["relu_input_0"], expected)
    assert np.array_equal(values["relu_output_0"], expected.clip(min=0))


def test_calls_outside_of_models_are_not_recorded() -> None:
    with watched(*ALL) as recorded:
        model = nn.Linear(3, 3)
        train(model, model)
        torch.relu(model.weight.detach())

    assert recorded.rows["statistics"] == []


def test_torchscript_compiles_the_original_functions() -> None:
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    points = torch.randn(3)
    expected = scripted.activated(points.clone())
    with watched(*ALL):
        script: Any = torch.jit.script
        assert torch.allclose(script(scripted.activated)(points.clone()), expected)
        model = script(nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.GELU(), nn.SiLU(), nn.Tanh()))
        train(model, model)


def test_a_model_that_stores_a_function_is_pickled_without_sonde() -> None:
    class Keeping(nn.Linear):
        def __init__(self) -> None:
            super().__init__(3, 3)
            self.functions = [functional.gelu, functional.silu, torch.relu, functional.relu]

    pickled = pickle.dumps(nn.TransformerEncoderLayer(4, 2, 4))
    with watched(*ALL):
        file = io.BytesIO()
        torch.save([Keeping().functions, pickle.loads(pickled)], file)
        functions, layer = torch.load(io.BytesIO(file.getvalue()), weights_only=False)
        assert functions == [functional.gelu, functional.silu, torch.relu, functional.relu]
        assert layer.activation is functional.relu
    assert b"sonde" not in file.getvalue()
    functions, layer = torch.load(io.BytesIO(file.getvalue()), weights_only=False)
    assert functions == [functional.gelu, functional.silu, torch.relu, functional.relu]


def test_pytorch_fast_paths_still_apply() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 4, batch_first=True).eval()
    batch = torch.randn(2, 3, 4)
    with torch.no_grad():
        expected = layer(batch)
        with watched(*ALL):
            torch.manual_seed(0)
            second_layer = nn.TransformerEncoderLayer(4, 2, 4, batch_first=True).eval()
            assert second_layer.activation_relu_or_gelu == 1
            assert torch.equal(second_layer(batch), expected)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_models_are_one_graph_with_the_same_results(backend: str) -> None:
    torch.manual_seed(0)
    model = Model()
    torch._dynamo.reset()
    expected = train(torch.compile(model, backend=backend, fullgraph=True), model, steps=3)
    with watched(*ALL):
        torch.manual_seed(0)
        model = Model()
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        outputs = train(torch.compile(model, backend=backend, fullgraph=True), model, steps=3)

    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    assert all(map(torch.equal, outputs, expected))


def test_the_graphs_of_compiled_functions_contain_the_original_functions() -> None:
    def compute(points: Tensor) -> Any:
        return functional.mse_loss(functional.gelu(torch.relu(points)), points)

    def targets() -> list[Any]:
        nodes: list[Any] = []

        def backend(graph: Any, _inputs: Any) -> Any:
            nodes.extend(node.target for node in graph.graph.nodes)
            return graph

        torch._dynamo.reset()
        torch.compile(compute, backend=backend, fullgraph=True)(torch.ones(3))
        return nodes

    with watched(*ALL):
        graph_targets = targets()

    assert graph_targets == targets()


def test_mapped_and_differentiated_calls_still_work() -> None:
    def function_of(point: Tensor) -> Tensor:
        output: Tensor = functional.gelu(torch.relu(point)).sum() + point.tanh().sum()
        return output

    points = torch.randn(4, 3)
    expected = vmap(grad(function_of))(points)
    with watched(*ALL):
        model = Model()
        train(model, model)
        assert torch.equal(vmap(grad(function_of))(points), expected)
