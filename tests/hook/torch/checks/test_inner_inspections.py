"""Inspections of layers: unit activity, channels, tokens and statistics, without lasting hooks."""

import json
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.fakes.session import Recorded, Row, watched

STEPS = 7
EARLY = {0, 1, 2, 3, 5}


class Network(nn.Module):
    """A model with a convolution, activation modules and an activation function."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(2, 4, 3)
        self.relu = nn.ReLU(inplace=True)
        self.middle = nn.Linear(4, 6)
        self.tanh = nn.Tanh()
        self.head = nn.Linear(6, 3)

    def forward(self, images: Tensor) -> Tensor:
        hidden = self.relu(self.convolution(images)).mean((2, 3))
        hidden = functional.relu(self.middle(hidden))
        output: Tensor = self.head(self.tanh(hidden))
        return output


def trained(model: nn.Module, batch: Tensor, steps: int = STEPS) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    for _ in range(steps):
        output = model(batch)
        loss: Any = functional.cross_entropy(output, torch.zeros(len(output), dtype=torch.int64))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def names(recorded: Recorded, step: int) -> set[str]:
    return set(recorded.statistics(step=step))


def facts(recorded: Recorded, kind: str, subject: str) -> tuple[float, Row]:
    row = next(row for row in recorded.observations(kind) if row["subject"] == subject)
    return row["value"], json.loads(row["detail"])


def test_tensors_that_rules_need_have_statistics_at_scheduled_steps() -> None:
    with watched(needed=None) as recorded:
        trained(Network(), torch.randn(4, 2, 5, 5))

    expected = {
        *("input_0", "output_0", "labels", "predictions", "tanh_input_0"),
        *("relu_input_0", "relu_output_0", "relu_input_1", "relu_output_1"),
    }
    assert {step for step in range(STEPS) if names(recorded, step)} == EARLY
    assert names(recorded, 0) == expected


def test_only_needed_tensors_are_recorded() -> None:
    with watched(needed=("tanh_input",)) as recorded:
        trained(Network(), torch.randn(4, 2, 5, 5))

    assert names(recorded, 3) == {"tanh_input_0"}


def test_modules_have_no_hooks_after_an_inspected_pass() -> None:
    with watched(needed=None):
        model = Network()
        trained(model, torch.randn(4, 2, 5, 5), steps=1)
        assert not any(child._forward_hooks for child in model.children())
        assert not any(child._forward_pre_hooks for child in model.children())


def test_requested_tensors_are_recorded_at_every_step_and_only_once() -> None:
    with watched("relu_output", needed=None) as recorded:
        trained(Network(), torch.randn(4, 2, 5, 5))

    for step in range(STEPS):
        outputs = {name for name in names(recorded, step) if "relu_output" in name}
        assert outputs == {"relu_output_0", "relu_output_1"}
    assert "relu_input_0" in names(recorded, 2)
    assert "relu_input_0" not in names(recorded, 4)


def test_layers_are_not_inspected_in_evaluations() -> None:
    with watched(needed=("inputs", "relu_output")) as recorded:
        model = Network()
        trained(model, torch.randn(4, 2, 5, 5), steps=1)
        model.eval()
        with torch.no_grad():
            model(torch.randn(4, 2, 5, 5))

    assert recorded.statistics("eval", 0) == {}


def test_units_that_are_never_active_are_counted() -> None:
    with watched(needed=("unit-activity",)) as recorded:
        model: Any = Network()
        with torch.no_grad():
            model.convolution.weight[:3] = 0.0
            model.convolution.bias[:] = torch.tensor([-1.0, 0.0, 1.0, 1.0])
            model.middle.weight[:] = 0.0
            model.middle.bias[:] = torch.tensor([-1.0, -1.0, -1.0, -1.0, -1.0, 1.0])
        trained(model, torch.randn(4, 2, 5, 5), steps=1)

    value, detail = facts(recorded, "unit-activity", "relu_output_0")
    assert (value, detail["samples"]) == (4, 4)
    assert detail["inactive"]["0.1"] == detail["inactive"]["10"] == 2
    value, detail = facts(recorded, "unit-activity", "relu_output_1")
    assert (value, detail) == (
        6,
        {"inactive": {"0.1": 5, "1": 5, "5": 5, "10": 5, "50": 5}, "samples": 4},
    )
    assert names(recorded, 0) == set()


def test_sequence_positions_are_samples_and_convolution_channels_are_units() -> None:
    with watched(needed=("unit-activity",)) as recorded:
        tokens = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Flatten(), nn.Linear(50, 2))
        trained(tokens, torch.randn(4, 10, 3), steps=1)
    with watched(needed=("unit-activity",)) as convolved:
        waves = nn.Sequential(nn.Conv1d(3, 5, 1), nn.ReLU(), nn.Flatten(), nn.Linear(50, 2))
        trained(waves, torch.randn(4, 3, 10), steps=1)

    value, detail = facts(recorded, "unit-activity", "1_output_0")
    assert (value, detail["samples"]) == (5, 40)
    value, detail = facts(convolved, "unit-activity", "1_output_0")
    assert (value, detail["samples"]) == (5, 4)


def test_channels_of_images_have_means_and_deviations() -> None:
    images = torch.randn(6, 2, 5, 5) * 3 + torch.tensor([1.0, 100.0]).view(1, 2, 1, 1)
    with watched(needed=("input-channels",)) as recorded:
        trained(Network(), images, steps=1)

    value, detail = facts(recorded, "input-channels", "input_0")
    assert value == 6
    expected = images.transpose(0, 1).flatten(1)
    torch.testing.assert_close(torch.tensor(detail["means"]), expected.mean(1))
    torch.testing.assert_close(torch.tensor(detail["stds"]), expected.std(1, correction=0))


class Reader(nn.Module):
    """Embeds tokens and token types."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30, 4)
        self.kinds = nn.Embedding(2, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.words(tokens) + self.kinds(torch.zeros_like(tokens))
        output: Tensor = self.head(hidden.mean(1))
        return output


def test_tokens_are_counted_but_token_types_are_not() -> None:
    with watched(needed=("input-tokens",)) as recorded:
        trained(Reader(), torch.tensor([[0, 0, 0, 7], [0, 0, 7, 29]]), steps=1)

    assert facts(recorded, "input-tokens", "words_input_0") == (
        8,
        {"counts": {"0": 5, "7": 2, "29": 1}},
    )
    assert len(recorded.observations("input-tokens")) == 1


def test_compiled_regions_get_no_hooks_in_inspections() -> None:
    with watched(needed=None) as recorded:
        model = Network()
        compiled: Any = torch.compile(model, backend="eager")
        trained(compiled, torch.randn(4, 2, 5, 5), steps=3)
        assert not any(child._forward_hooks for child in model.children())

    assert names(recorded, 1) == {"input_0", "output_0", "labels", "predictions"}


def test_models_of_two_optimizers_are_both_inspected() -> None:
    with watched(needed=("relu_output", "unit-activity")) as recorded:
        maker = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        judge = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
        optimizers = [
            torch.optim.SGD(maker.parameters(), lr=0.01),
            torch.optim.SGD(judge.parameters(), lr=0.01),
        ]
        for _ in range(4):
            for optimizer in reversed(optimizers):
                optimizer.zero_grad()
                judge(maker(torch.ones(2, 3))).sum().backward()
                optimizer.step()

    subjects = {row["subject"] for row in recorded.observations("unit-activity")}
    assert {"maker.1_output_0", "judge.1_output_0"} <= subjects
    assert {"maker.1_output_0", "judge.1_output_0"} <= names(recorded, 1)
