"""Evaluations that a framework names and reports metrics for."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
import torch.nn.functional
from torch import Tensor, nn
from torch.utils.data import DataLoader

from sonde.hook.frameworks.torch import PyTorch
from sonde.hook.torch.loop.evaluation_numbers import reported_loss
from sonde.hook.torch.loop.evaluations import Evaluations
from tests.fakes.session import watched
from tests.hook.torch.loop.test_evaluations import Script, classifier, data, evaluations_of

functional: Any = torch.nn.functional


@pytest.fixture(params=[True, False], ids=["inspected", "deferred"])
def closely(request: pytest.FixtureRequest) -> bool:
    """Inspected and deferred steps give the same results."""
    return bool(request.param)


class TitledScript(Script):
    """Evaluates like a framework that names evaluations and reports their metrics."""

    def evaluate_as(self, evaluations: Evaluations, title: str, *loaders: Iterable[Any]) -> float:
        before = evaluations.set_title(title)
        losses = [self.evaluate(loader) for loader in loaders]
        evaluations.report([{f"{title}_loss": loss} for loss in losses])
        evaluations.set_title(before)
        return losses[0]


def titled(run: Callable[[TitledScript, Evaluations], None], closely: bool) -> list[dict[str, Any]]:
    with watched(closely=closely) as recorded:
        torch_adapter = recorded.session.frameworks.adapters["torch"]
        assert isinstance(torch_adapter, PyTorch)
        run(TitledScript(), torch_adapter.evaluations)
    return evaluations_of(recorded)


def test_framework_metrics_are_assigned_to_their_evaluations(closely: bool) -> None:
    """An evaluation of several named data sets ends by reporting all metrics again."""

    def run(script: TitledScript, evaluations: Evaluations) -> None:
        script.epoch()
        before = evaluations.set_title("validation")
        first = script.evaluate_as(evaluations, "a", script.val_loader)
        script.evaluate_as(evaluations, "b", DataLoader(data(12), batch_size=8))
        evaluations.report([{"a_loss": first, "b_loss": 2.0}])
        evaluations.set_title(before)

    results = titled(run, closely)
    assert [(result["name"], list(result["metrics"])) for result in results] == [
        ("a", ["a_loss"]),
        ("b", ["b_loss"]),
    ]


def test_each_loader_of_an_evaluation_has_its_own_metrics(closely: bool) -> None:
    def run(script: TitledScript, evaluations: Evaluations) -> None:
        script.epoch()
        second = DataLoader(data(12), batch_size=8)
        script.evaluate_as(evaluations, "validation", script.val_loader, second)

    results = titled(run, closely)
    reported = [result["metrics"]["validation_loss"] for result in results]
    assert [result["samples"] for result in results] == [20, 12]
    assert reported == pytest.approx([result["loss"] for result in results])


def test_a_titled_evaluation_is_one_series_for_all_call_sites(closely: bool) -> None:
    """A trainer evaluates during training, and again when the script calls it at the end."""

    def run(script: TitledScript, evaluations: Evaluations) -> None:
        for _ in range(2):
            script.epoch()
            script.evaluate_as(evaluations, "validation", script.val_loader)
        script.evaluate_as(evaluations, "validation", script.val_loader)

    results = titled(run, closely)
    assert [(result["name"], result["step"]) for result in results] == [
        ("validation", 5),
        ("validation", 10),
        ("validation", 10),
    ]


def test_the_framework_loss_wins_if_a_pass_has_two_losses(
    closely: bool,
) -> None:
    """A validation step may compute the losses of the model and of its moving average."""

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = classifier()
            self.average = copy.deepcopy(self.model).requires_grad_(False)

        def forward(self, points: Tensor, labels: Tensor) -> Tensor:
            loss: Tensor = functional.cross_entropy(self.model(points), labels)
            if not self.training:
                functional.cross_entropy(self.average(points), labels)
            return loss

    losses = []
    with watched(closely=closely) as recorded:
        torch_adapter = recorded.session.frameworks.adapters["torch"]
        assert isinstance(torch_adapter, PyTorch)
        evaluations, script, step = torch_adapter.evaluations, Script(), Step()
        optimizer = torch.optim.SGD(step.model.parameters(), lr=0.1)
        for _ in range(2):
            for points, labels in script.train_loader:
                optimizer.zero_grad()
                step.train()(points, labels).backward()
                optimizer.step()
            before = evaluations.set_title("validation")
            with torch.no_grad():
                values = [(len(x), step.eval()(x, y).item()) for x, y in script.val_loader]
            losses.append(sum(rows * value for rows, value in values) / 20)
            evaluations.report([{"val_loss": losses[-1], "val_accuracy": 0.5}])
            evaluations.set_title(before)

    results = evaluations_of(recorded)
    assert [result["loss"] for result in results] == pytest.approx(losses)


def test_a_reported_loss_belongs_to_the_trained_model_not_to_the_reference(
    closely: bool,
) -> None:
    """Preference trainers compute their loss from both models and return neither one's."""

    def run(script: TitledScript, evaluations: Evaluations) -> None:
        reference = copy.deepcopy(script.model).requires_grad_(False)
        script.epoch()
        before = evaluations.set_title("validation")
        with torch.no_grad():
            for points, labels in script.val_loader:
                functional.cross_entropy(script.model.eval()(points), labels)
                functional.cross_entropy(reference.eval()(points), labels)
        evaluations.report([{"eval_loss": 0.25, "eval_margin_loss": 9.0}])
        evaluations.set_title(before)

    trained, reference_result = titled(run, closely)
    assert (trained["name"], trained["loss"]) == ("validation", 0.25)
    assert reference_result["name"] == "validation (reference)"
    assert "metrics" not in reference_result


@pytest.mark.parametrize(
    ("metrics", "title", "expected"),
    [
        ({"loss": 1.0, "mae": 2.0}, "validation", 1.0),
        ({"val_accuracy": 0.5, "val_loss": 1.0}, "validation", 1.0),
        ({"val/loss": 1.0}, "validation", 1.0),
        ({"val_loss/dataloader_idx_1": 1.0}, "validation", 1.0),
        ({"eval_near_loss": 1.0, "eval_far_loss": 2.0}, "near", 1.0),
        ({"extra_loss": 1.0}, "extra", 1.0),
        ({"val_regularization_loss": 1.0}, "validation", None),
        ({"accuracy": 1.0}, "validation", None),
    ],
)
def test_the_loss_among_reported_metrics_is_found_by_name(
    metrics: dict[str, float], title: str, expected: float | None
) -> None:
    assert reported_loss(metrics, title) == expected
