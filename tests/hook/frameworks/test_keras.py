"""Keras on PyTorch, simulated by a small trainer with the same interface."""

import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from sonde.hook.frameworks.keras import Keras
from tests.fakes.session import Recorded, watched

TRAINER = "keras.src.backend.torch.trainer"
LAYER = "keras.src.backend.torch.layer"
CALLBACKS = "keras.src.callbacks.callback_list"
OPTIMIZER = "keras.src.optimizers.base_optimizer"
VERSION = "keras.src.version"
RATE = 0.1


class Variable:
    """A tensor with a path."""

    def __init__(self, path: str, value: torch.Tensor) -> None:
        self.path, self.value = path, value
        self.name = path

    def __eq__(self, other: object) -> Any:
        raise TypeError("the truth of a comparison of tensors is ambiguous")

    __hash__ = None  # type: ignore[assignment]


class BaseOptimizer:
    """Updates weights without an optimizer of PyTorch."""

    def __init__(self, weights: list[Variable]) -> None:
        self._trainable_variables = weights
        self.learning_rate = Variable("learning_rate", torch.tensor(RATE))
        self.variables = [
            Variable(f"{weight.path.replace('/', '_')}_momentum", torch.zeros_like(weight.value))
            for weight in weights
        ]

    def apply(self, grads: list[torch.Tensor], trainable_variables: Any = None) -> None:
        for weight, gradient in zip(trainable_variables, grads, strict=True):
            weight.value.sub_(self.learning_rate.value * gradient)


class CallbackList:
    """Receives the means of each epoch."""

    callbacks: tuple[Any, ...] = ()

    def on_train_begin(self) -> None:
        assert not self.callbacks

    def on_train_end(self) -> None:
        assert not self.callbacks

    def on_epoch_end(self, epoch: int, logs: dict[str, float]) -> None:
        assert logs


class TorchLayer(nn.Module):
    """Tracks its variables once they are built."""

    variables: list[Variable]

    def _track_variables(self) -> None:
        assert self.variables


class TorchTrainer(TorchLayer):
    """Computes losses without PyTorch loss functions, and names its metrics."""

    def __init__(self) -> None:
        super().__init__()
        self.metrics = [SimpleNamespace(name="loss"), SimpleNamespace(name="mae")]
        self.layer = nn.Linear(4, 1)
        paths = {"model/dense/kernel": self.layer.weight, "model/dense/bias": self.layer.bias}
        self.variables = [Variable(path, value) for path, value in paths.items()]
        self._track_variables()
        self.optimizer = BaseOptimizer(self.variables)

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
            CallbackList().on_epoch_end(0, {"accuracy": 0.25})

    def _update(self, batch: torch.Tensor) -> None:
        self.train()
        self.zero_grad()
        loss: Any = self.loss(batch)
        loss.backward()
        with torch.no_grad():
            gradients: Any = [variable.value.grad for variable in self.variables]
            self.optimizer.apply(gradients, self.variables)

    def evaluate(self, points: torch.Tensor, *, return_dict: bool = False, **_more: object) -> Any:
        self.eval()
        with torch.no_grad():
            measured = {"loss": float(self.loss(points)), "mae": 0.5}
        printed.append(measured["loss"])
        return measured if return_dict else list(measured.values())

    def predict(self, points: torch.Tensor) -> torch.Tensor:
        self.eval()
        batches = DataLoader(TensorDataset(points), batch_size=8)
        with torch.no_grad():
            return torch.cat([self(batch) for (batch,) in batches])


printed: list[float] = []


@pytest.fixture(autouse=True)
def keras(monkeypatch: pytest.MonkeyPatch) -> None:
    printed.clear()
    packages = ("keras", "keras.src", "keras.src.backend", "keras.src.backend.torch")
    parents = [name.rpartition(".")[0] for name in (OPTIMIZER, CALLBACKS)]
    for name in (*packages, *parents, TRAINER, LAYER, OPTIMIZER, CALLBACKS, VERSION):
        module = ModuleType(name)
        vars(module)["__path__"] = []
        monkeypatch.setitem(sys.modules, name, module)
    vars(sys.modules[TRAINER])["TorchTrainer"] = TorchTrainer
    vars(sys.modules[LAYER])["TorchLayer"] = TorchLayer
    vars(sys.modules[CALLBACKS])["CallbackList"] = CallbackList
    vars(sys.modules[OPTIMIZER])["BaseOptimizer"] = BaseOptimizer
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


def test_an_update_of_a_keras_optimizer_is_an_optimizer_step() -> None:
    with watched("all:every=1") as recorded:
        adapter = Keras()
        adapter.attach(recorded.session)
        model = TorchTrainer()
        model.fit(torch.randn(16, 4), torch.randn(8, 4))
        adapter.detach()

    assert recorded.session.steps.counts["train"] == 6
    assert recorded.session.guard.failed == {}
    assert recorded.scalars("learning_rate/0")[0] == pytest.approx(RATE)
    assert recorded.scalars("accuracy") == {1: 0.25, 3: 0.25, 5: 0.25}
    names = {"model/dense/kernel", "model/dense/bias"}
    expected = {
        *names,
        *(f"gradient/{name}" for name in names),
        *(f"optimizer_state/momentum/{name}" for name in names),
    }
    assert expected <= set(recorded.statistics())
