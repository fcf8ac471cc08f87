"""Inputs and outputs of models and modules are recorded once, with their names and steps."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.utils.checkpoint import checkpoint

from tests.fakes.session import Recorded, watched

EVERY_ACTIVATION = ("activations:values", "relu_input:values", "tanh_input", "sigmoid_input")


def train(network: nn.Module, steps: int = 1, **inputs: Tensor) -> list[Tensor]:
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    batches = [torch.randn(2, 3) for _ in range(steps)]
    for batch in batches:
        output = network(**inputs) if inputs else network(batch)
        output.sum().backward()
        optimizer.step()
    return batches


def names(recorded: Recorded, mode: str = "train", step: int = 0) -> set[str]:
    return set(recorded.statistics(mode, step))


class Block(nn.Module):
    """Activations of several kinds, one of them in place and called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.relu = nn.ReLU(inplace=True)
        self.gate = nn.Sigmoid()
        self.inner = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.GELU())

    def forward(self, batch: Tensor) -> Tensor:
        hidden = self.relu(self.first(batch))
        output: Tensor = self.relu(self.inner(hidden) - 0.1) * self.gate(batch)
        return output


def test_activations_are_named_after_their_modules_and_counted_within_the_step() -> None:
    with watched(*EVERY_ACTIVATION) as recorded:
        train(Block(), steps=2)

    assert names(recorded, step=1) == {
        *("relu_input_0", "relu_input_1", "relu_output_0", "relu_output_1"),
        *("gate_input_0", "gate_output_0", "inner.1_input_0", "inner.1_output_0"),
        "inner.2_output_0",
    }
    assert recorded.notices() == {}


def test_tensors_are_copied_before_they_change_in_place() -> None:
    with watched(*EVERY_ACTIVATION) as recorded:
        network = Block()
        weight = network.first.weight.detach().clone()
        bias = network.first.bias.detach().clone()
        (batch,) = train(network)

    values = recorded.values["train", 0]
    expected = torch.nn.functional.linear(batch, weight, bias)
    assert torch.equal(torch.from_numpy(values["relu_input_0"].copy()), expected)
    assert np.array_equal(values["relu_output_0"], expected.clamp(min=0).numpy())


def test_inner_modules_have_no_hooks_by_default() -> None:
    with watched("weights"):
        network = Block()
        train(network)
        assert not any(child._forward_hooks for child in network.children())
        assert not any(child._forward_pre_hooks for child in network.children())


def test_only_requested_modules_have_hooks() -> None:
    with watched("mine:include=gate_output") as recorded:
        network = Block()
        train(network)
        hooked = [name for name, child in network.named_children() if child._forward_hooks]

    assert hooked == ["gate"]
    assert names(recorded) == {"gate_output_0"}


def test_schedules_hold_per_mode() -> None:
    with watched("outputs:train.steps=1,eval.every=2") as recorded:
        network = Block()
        train(network, steps=3)
        network.eval()
        with torch.no_grad():
            for _ in range(3):
                network(torch.ones(2, 3))

    recorded_steps = {(row["mode"], row["step"]) for row in recorded.rows["statistics"]}
    assert recorded_steps == {("train", 1), ("eval", 0), ("eval", 2)}


class Answer(NamedTuple):
    """An output of several tensors."""

    logits: Tensor
    states: list[Tensor]


@dataclass
class Wide:
    """An output that is a dataclass."""

    answer: Answer
    more: dict[str, Tensor]


class Rich(nn.Module):
    """Takes and returns more than one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, batch: Tensor, mask: Tensor | None = None) -> Any:
        logits = self.layer(batch)
        return Wide(Answer(logits, [logits + 1, logits + 2]), {"hidden": logits * 2})


def test_inputs_and_outputs_of_any_shape_have_readable_names() -> None:
    with watched("inputs", "outputs") as recorded:
        network = Rich()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        network(torch.ones(2, 3), mask=torch.ones(2)).answer.logits.sum().backward()
        optimizer.step()

    assert names(recorded) == {
        *("input_0", "input_0.mask", "output_0.answer.logits", "output_0.more.hidden"),
        *("output_0.answer.states.0", "output_0.answer.states.1"),
    }


def test_two_models_have_their_own_names() -> None:
    with watched("outputs") as recorded:
        encoder, decoder = nn.Linear(3, 3), nn.Linear(3, 3)
        optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
        decoder(encoder(torch.ones(2, 3))).sum().backward()
        optimizer.step()

    assert names(recorded) == {"encoder_output_0", "decoder_output_0"}


def test_passes_between_two_optimizers_end_up_at_their_step() -> None:
    with watched("outputs:values") as recorded:
        network = nn.Linear(3, 3)
        optimizers = [torch.optim.SGD(network.parameters(), lr=0.1) for _ in range(2)]
        outputs = []
        for _ in range(3):
            for optimizer in optimizers:
                output = network(torch.randn(2, 3))
                outputs.append(output.detach().numpy().copy())
                output.sum().backward()
                optimizer.step()

    for step in range(3):
        values = recorded.values["train", step]
        assert set(values) == {"output_0", "output_1"}
        assert np.array_equal(values["output_0"], outputs[2 * step])
        assert np.array_equal(values["output_1"], outputs[2 * step + 1])


def test_a_pass_without_gradients_is_recorded_at_the_step_that_uses_it() -> None:
    with watched("outputs:values") as recorded:
        teacher, student = nn.Linear(3, 3), nn.Linear(3, 3)
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        with torch.no_grad():
            target = teacher(torch.randn(2, 3))
        expected = target.numpy().copy()
        target.zero_()
        (student(torch.ones(2, 3)) - target).sum().backward()
        optimizer.step()
        with torch.no_grad():
            torch.nn.functional.mse_loss(teacher(torch.ones(2, 3)), target)

    assert np.array_equal(recorded.values["train", 0]["teacher_output_0"], expected)
    assert names(recorded) == {"teacher_output_0", "student_output_0"}
    assert names(recorded, "eval") == {"teacher_output_0"}


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_tensors_recomputed_by_checkpointing_are_recorded_once(use_reentrant: bool) -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 3)
            self.block = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

        def forward(self, batch: Tensor) -> Any:
            return checkpoint(self.block, self.first(batch), use_reentrant=use_reentrant)

    with watched("activations") as recorded:
        train(Checkpointed(), steps=2)

    assert names(recorded, step=1) == {"block.1_output_0"}


def test_many_calls_are_truncated_with_a_notice() -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.Linear(3, 3)
            self.squash = nn.Tanh()

        def forward(self, state: Tensor) -> Tensor:
            for _ in range(20):
                state = self.squash(self.cell(state))
            return state

    with watched("activations") as recorded:
        train(Loop())

    assert names(recorded) == {f"squash_output_{call}" for call in range(16)}
    assert "squash_output_16 and later calls" in recorded.notices()


def test_mapped_and_functional_calls_are_not_recorded() -> None:
    with watched("all:values"):
        network = Block()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        weights = {name: parameter.detach() for name, parameter in network.named_parameters()}

        def loss(weights: dict[str, Tensor], point: Tensor) -> Tensor:
            total: Tensor = functional_call(network, weights, (point.unsqueeze(0),)).sum()
            return total

        gradients = vmap(grad(loss), in_dims=(None, 0))(weights, torch.ones(4, 3))
        network(torch.ones(2, 3)).sum().backward()
        optimizer.step()

    assert gradients["first.weight"].shape == (4, 3, 3)


def compiled_steps(network: Any, model: nn.Module) -> int:
    """Train a model and return the number of compiled graphs."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        network(torch.ones(2, 3)).sum().backward()
        optimizer.step()
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def test_only_inputs_and_outputs_of_a_compiled_model_are_recorded() -> None:
    with watched("all") as recorded:
        model = Block()
        graphs = compiled_steps(torch.compile(model, backend="aot_eager", fullgraph=True), model)

    assert graphs == 1
    tensor_names = names(recorded, step=3)
    assert {"input_0", "output_0", "first.weight"} <= tensor_names
    assert not any(name.startswith("relu") for name in tensor_names)
    assert recorded.notices() == {"activations of *": "inside a compiled region"}


def test_only_inputs_and_outputs_of_a_model_compiled_in_place_are_recorded() -> None:
    with watched("all") as recorded:
        model = Block()
        model.compile(backend="aot_eager", fullgraph=True)
        graphs = compiled_steps(model, model)

    assert graphs == 1
    assert {"input_0", "output_0"} <= names(recorded, step=3)
    assert recorded.notices() == {"activations of *": "inside a compiled region"}


def test_inside_a_compiled_training_function_activations_are_missing_with_a_notice() -> None:
    with watched("activations") as recorded:
        model = Block()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        torch._dynamo.reset()

        @torch.compile(backend="aot_eager", fullgraph=True)
        def loss_of(batch: Tensor) -> Any:
            return torch.nn.functional.mse_loss(model(batch), batch)

        for _ in range(5):
            loss_of(torch.ones(2, 3)).backward()
            optimizer.step()

    assert recorded.rows["statistics"] == []
    assert list(recorded.notices()) == ["activations of *"]


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_an_activation_requested_by_name_breaks_the_graph() -> None:
    with watched("mine:include=inner.1_output") as recorded:
        model = Block()
        graphs = compiled_steps(torch.compile(model, backend="aot_eager"), model)

    assert graphs > 1
    assert names(recorded, step=3) == {"inner.1_output_0"}


def test_a_fullgraph_region_is_never_broken() -> None:
    with watched("mine:include=inner.1_output") as recorded:
        model = Block()
        graphs = compiled_steps(torch.compile(model, backend="aot_eager", fullgraph=True), model)

    assert graphs == 1
    assert recorded.notices() == {"activations of inner.1": "inside a compiled region"}
