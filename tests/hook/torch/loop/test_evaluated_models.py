"""Evaluations of models inside models, of copies, and by several names."""

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional
from torch import Tensor, nn

from sonde.hook.torch.loop import deferral_policy, deferred_hooks
from tests.fakes.session import watched
from tests.hook.torch.loop.test_evaluations import Script, classifier, recorded_of

functional: Any = torch.nn.functional


@pytest.fixture(autouse=True, params=[True, False], ids=["inspected", "deferred"])
def closely(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Inspected and deferred steps give the same results."""
    monkeypatch.setattr(deferred_hooks, "_MAX_DELAY_NS", 10**15)
    monkeypatch.setattr(deferral_policy, "_INSPECTION_INTERVAL_SECONDS", 1000.0)
    return bool(request.param)


class Task(nn.Module):
    """Holds a model and its loss, as libraries of image models do."""

    def __init__(self) -> None:
        super().__init__()
        self.model = classifier()

    def forward(self, points: Tensor, labels: Tensor) -> Any:
        return functional.cross_entropy(self.model(points), labels)


def test_a_model_inside_a_task_and_its_moving_average_have_separate_series(closely: bool) -> None:
    results: dict[str, list[float]] = {"validation": [], "validation (ema)": []}

    def run(script: Script) -> None:
        task = Task()
        averaged = copy.deepcopy(task.model)
        for parameter in averaged.parameters():
            parameter.requires_grad_(False)
        optimizer = torch.optim.SGD(task.parameters(), lr=0.1)
        for _ in range(3):
            task.train()
            for points, labels in script.train_loader:
                optimizer.zero_grad()
                task(points, labels).backward()
                optimizer.step()
                with torch.no_grad():
                    for weights, new in zip(
                        averaged.parameters(), task.model.parameters(), strict=True
                    ):
                        weights.lerp_(new, 0.1)
            results["validation"].append(script.evaluate(script.val_loader, task.model))
            results["validation (ema)"].append(script.evaluate(script.val_loader, averaged))

    recorded = recorded_of(run, closely)

    by_name = {
        name: [result["loss"] for result in recorded if result["name"] == name] for name in results
    }
    assert by_name == {name: pytest.approx(values) for name, values in results.items()}
    assert [result["step"] for result in recorded] == [5, 5, 10, 10, 15, 15]


class Agent(nn.Module):
    """A module that is never called itself."""

    def __init__(self) -> None:
        super().__init__()
        self.actor, self.critic = classifier(), nn.Linear(4, 1)

    def loss(self, points: Tensor, labels: Tensor) -> Any:
        values = self.critic(points).squeeze(1)
        return (
            functional.cross_entropy(self.actor(points), labels) + (values - labels).square().mean()
        )


def test_directly_called_submodules_of_an_agent_have_a_forward_phase(closely: bool) -> None:
    with watched(closely=closely) as recorded:
        agent = Agent()
        optimizer = torch.optim.SGD(agent.parameters(), lr=0.1)
        for _ in range(8):
            optimizer.zero_grad()
            agent.loss(torch.randn(4, 4), torch.randint(0, 2, (4,))).backward()
            optimizer.step()

    assert recorded.phases(step=6).count("forward") == 2


def test_inference_between_training_steps_is_not_an_evaluation(closely: bool) -> None:
    def run(script: Script) -> None:
        for _ in range(5):
            script.model.eval()
            with torch.no_grad():
                for _ in range(4):
                    script.model(torch.randn(1, 4)).argmax()
            script.epoch()

    assert recorded_of(run, closely) == []


def test_one_loop_over_split_names_gives_a_series_for_each(closely: bool) -> None:
    results: dict[str, list[float]] = {"train (evaluated)": [], "validation": []}

    def estimate_loss(script: Script) -> None:
        script.model.eval()
        for split in ["train", "val"]:
            points, labels = (script.train_set if split == "train" else script.val_set).tensors
            losses = []
            with torch.no_grad():
                for first in (0, 8):
                    outputs = script.model(points[first : first + 8])
                    losses.append(
                        functional.cross_entropy(outputs, labels[first : first + 8]).item()
                    )
            name = "train (evaluated)" if split == "train" else "validation"
            results[name].append(sum(losses) / 2)

    def run(script: Script) -> None:
        for _ in range(2):
            script.epoch()
            estimate_loss(script)

    recorded = recorded_of(run, closely)

    assert [(result["name"], result["samples"]) for result in recorded] == [
        ("train (evaluated)", 16),
        ("validation", 16),
    ] * 2
    for name, values in results.items():
        assert [result["loss"] for result in recorded if result["name"] == name] == pytest.approx(
            values
        )


def test_a_model_created_in_inference_mode_is_a_reference(closely: bool) -> None:
    """Inference tensors do not count in-place changes."""

    def run(script: Script) -> None:
        with torch.inference_mode():
            reference = classifier()
        for _ in range(2):
            script.epoch()
            script.evaluate(script.val_loader)
            script.evaluate(script.val_loader, reference)

    names = [result["name"] for result in recorded_of(run, closely)]
    assert names == 2 * ["validation", "validation (reference)"]
