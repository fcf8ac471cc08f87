"""Keras on PyTorch, simulated by a small trainer with the same interface."""

import json
import sys
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

from sonde.hook.frameworks.keras import Keras
from tests.fakes.session import Recorded, watched

TRAINER = "keras.src.backend.torch.trainer"
VERSION = "keras.src.version"


class TorchTrainer(nn.Module):
    """Computes losses without PyTorch loss functions, and names its metrics."""

    metrics_names = ("loss", "mae")

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layer(points)
        return result

    def loss(self, points: torch.Tensor) -> torch.Tensor:
        """Return the mean squared error, computed without a PyTorch loss function."""
        errors: torch.Tensor = self(points) - points.sum(1, keepdim=True)
        return errors.square().mean()

    def fit(self, points: torch.Tensor, validation: torch.Tensor) -> None:
        for _ in range(3):
            for batch in (points[:8], points[8:]):
                self._update(batch)
            results = self.evaluate(validation, return_dict=True, _use_cached_eval_dataset=True)
            assert isinstance(results, dict)

    def _update(self, batch: torch.Tensor) -> None:
        self.train()
        self.zero_grad()
        loss: Any = self.loss(batch)
        loss.backward()
        with torch.no_grad():
            for parameter in self.parameters():
                assert parameter.grad is not None
                parameter.sub_(0.1 * parameter.grad)

    def evaluate(self, points: torch.Tensor, *, return_dict: bool = False, **_more: object) -> Any:
        self.eval()
        with torch.no_grad():
            measured = {"loss": float(self.loss(points)), "mae": 0.5}
        printed.append(measured["loss"])
        return measured if return_dict else list(measured.values())

    def predict(self, points: torch.Tensor) -> torch.Tensor:
        self.eval()
        with torch.no_grad():
            result: torch.Tensor = self(points)
        return result


printed: list[float] = []


@pytest.fixture(autouse=True)
def keras(monkeypatch: pytest.MonkeyPatch) -> None:
    printed.clear()
    names = ("keras", "keras.src", "keras.src.backend", "keras.src.backend.torch", TRAINER, VERSION)
    for name in names:
        module = ModuleType(name)
        vars(module)["__path__"] = []
        monkeypatch.setitem(sys.modules, name, module)
    vars(sys.modules[TRAINER])["TorchTrainer"] = TorchTrainer
    vars(sys.modules[VERSION])["__version__"] = "3.15.1"


def evaluations(recorded: Recorded) -> list[tuple[str, int, float, list[str]]]:
    rows = recorded.observations("evaluation")
    return [
        (row["subject"], row["step"], row["value"], list(json.loads(row["detail"])["metrics"]))
        for row in rows
    ]


def test_evaluation_losses_match_keras() -> None:
    torch.manual_seed(0)
    with watched() as recorded:
        adapter = Keras()
        adapter.attach(recorded.session)
        model = TorchTrainer()
        model.fit(torch.randn(16, 4), torch.randn(8, 4))
        x_test = torch.randn(8, 4)
        model.evaluate(x_test)
        adapter.detach()

    recorded_evaluations = evaluations(recorded)
    assert [evaluation[2] for evaluation in recorded_evaluations] == pytest.approx(printed)
    assert [evaluation[0] for evaluation in recorded_evaluations] == 3 * ["validation"] + ["test"]
    assert {tuple(evaluation[3]) for evaluation in recorded_evaluations} == {("loss", "mae")}


def test_predictions_are_not_evaluations() -> None:
    with watched() as recorded:
        adapter = Keras()
        adapter.attach(recorded.session)
        model = TorchTrainer()
        model.fit(torch.randn(16, 4), torch.randn(8, 4))
        model.predict(torch.randn(8, 4))
        adapter.detach()

    assert recorded.session.steps.counts["predict"] == 1
    assert {evaluation[0] for evaluation in evaluations(recorded)} == {"validation"}
