"""Evaluation losses at the right step; labels, predictions, classes and batches."""

import io
import json
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional
from torch import Tensor, nn
from torch.nn.functional import cross_entropy as original_cross_entropy

from tests.fakes.session import watched

functional: Any = torch.nn.functional


def classifier() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def batch(size: int = 4) -> tuple[Tensor, Tensor]:
    points = torch.randn(size, 3)
    return points, (points[:, 0] > 0).long()


def train(network: nn.Module, steps: int = 2) -> None:
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(steps):
        points, labels = batch()
        functional.cross_entropy(network(points), labels).backward()
        optimizer.step()


@pytest.mark.parametrize(
    "criterion",
    [
        lambda outputs, labels: functional.cross_entropy(outputs, target=labels),
        nn.CrossEntropyLoss(),
        lambda outputs, labels: functional.nll_loss(outputs.log_softmax(1), labels),
        lambda outputs, labels: functional.huber_loss(outputs[:, 0], labels.float()),
    ],
)
def test_evaluation_losses_are_recorded_at_their_steps(criterion: Any) -> None:
    with watched() as recorded:
        network = classifier()
        train(network)
        network.eval()
        losses = []
        with torch.no_grad():
            for _ in range(3):
                points, labels = batch()
                losses.append(float(criterion(network(points), labels)))
        network.train()
        train(network)

    assert recorded.scalars("loss", "eval") == dict(enumerate(losses))
    assert set(recorded.scalars("loss")) == {0, 1, 2, 3}


def test_the_loss_returned_by_a_model_is_recorded() -> None:
    class ModelWithLoss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, points: Tensor, labels: Tensor) -> dict[str, Tensor]:
            logits = self.layer(points)
            loss = functional.cross_entropy(logits, labels) + functional.mse_loss(logits, logits)
            return {"loss": 2 * loss, "logits": logits}

    with watched() as recorded:
        network = ModelWithLoss()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        network(*batch())["loss"].backward()
        optimizer.step()
        network.eval()
        with torch.inference_mode():
            losses = [float(network(*batch())["loss"]) for _ in range(2)]

    assert recorded.scalars("loss", "eval") == dict(enumerate(losses))
    assert recorded.scalars("loss/cross_entropy", "eval") == {}


def test_a_loss_inside_the_forward_of_a_model_belongs_to_that_pass() -> None:
    class Scoring(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, points: Tensor, labels: Tensor) -> Any:
            return functional.cross_entropy(self.layer(points), labels)

    with watched() as recorded:
        network = Scoring()
        torch.optim.SGD(network.parameters(), lr=0.1)
        network.eval()
        with torch.no_grad():
            losses = [float(network(*batch())) for _ in range(2)]

    assert recorded.scalars("loss", "eval") == dict(enumerate(losses))


def test_several_losses_of_a_step_are_recorded_separately() -> None:
    with watched() as recorded:
        network = classifier()
        train(network)
        network.eval()
        with torch.no_grad():
            points, labels = batch()
            outputs = network(points)
            first = functional.cross_entropy(outputs, labels)
            second = functional.mse_loss(outputs[:, 0], labels.float())

    assert recorded.scalars("loss", "eval") == {}
    assert recorded.scalars("loss/cross_entropy", "eval") == {0: float(first)}
    assert recorded.scalars("loss/mse_loss", "eval") == {0: float(second)}


def test_a_custom_loss_module_is_recorded_as_one_loss() -> None:
    class FocalLoss(nn.Module):
        def forward(self, outputs: Tensor, labels: Tensor) -> Any:
            losses = functional.cross_entropy(outputs, labels, reduction="none")
            return (losses**2).mean() + functional.mse_loss(outputs, outputs)

    with watched() as recorded:
        network, criterion = classifier(), FocalLoss()
        train(network)
        network.eval()
        with torch.no_grad():
            points, labels = batch()
            loss = criterion(network(points), labels)

    assert recorded.scalars("loss", "eval") == {0: float(loss)}


def test_a_metric_during_training_is_not_an_evaluation_loss() -> None:
    with watched() as recorded:
        network = classifier()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(2):
            points, labels = batch()
            outputs = network(points)
            with torch.no_grad():
                functional.mse_loss(outputs[:, 0], labels.float())
            functional.cross_entropy(outputs, labels).backward()
            optimizer.step()

    assert {row["mode"] for row in recorded.rows["scalars"]} == {"train"}


def test_an_evaluation_with_gradients_enabled_has_its_losses() -> None:
    with watched() as recorded:
        network = classifier()
        train(network)
        network.eval()
        losses = []
        data: Any = [batch() for _ in range(2)]
        for points, labels in torch.utils.data.DataLoader(data, batch_size=None):
            losses.append(float(functional.cross_entropy(network(points), labels).detach()))

    assert recorded.scalars("loss", "eval") == dict(enumerate(losses))


def test_losses_with_several_elements_are_not_recorded() -> None:
    with watched() as recorded:
        network = classifier()
        train(network)
        network.eval()
        with torch.no_grad():
            points, labels = batch()
            functional.cross_entropy(network(points), labels, reduction="none")

    assert recorded.scalars("loss", "eval") == {}


def test_labels_and_predictions_are_the_inputs_of_loss_functions() -> None:
    with watched("labels:values", "predictions:values") as recorded:
        network = classifier()
        train(network)
        network.eval()
        points, labels = batch()
        with torch.no_grad():
            outputs = network(points)
            functional.cross_entropy(input=outputs, target=labels)
            functional.mse_loss(outputs[:, 0], labels.float())

    assert set(recorded.statistics(step=1)) == {"labels", "predictions"}
    values = recorded.values["eval", 0]
    assert set(values) == {"labels", "predictions", "labels_1", "predictions_1"}
    assert np.array_equal(values["labels"], labels.numpy())
    assert np.array_equal(values["predictions"], outputs.numpy())


def test_classes_are_counted() -> None:
    with watched() as recorded:
        network = classifier()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(150):
            labels = torch.tensor([0, 0, 1, -100])
            functional.cross_entropy(network(torch.randn(4, 3)), labels).backward()
            optimizer.step()

    rows = recorded.observations("label-histogram")
    assert [row["step"] for row in rows] == [99, 149]
    assert [json.loads(row["detail"]) for row in rows] == [
        {"0": 200, "1": 100},
        {"0": 100, "1": 50},
    ]
    assert [row["value"] for row in rows] == [300, 150]


def test_too_many_labels_are_reported_as_not_counted() -> None:
    with watched() as recorded:
        network = nn.Conv2d(1, 2, 1)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        labels = torch.zeros(2, 64, 64, dtype=torch.long)
        functional.cross_entropy(network(torch.randn(2, 1, 64, 64)), labels).backward()
        optimizer.step()

    assert recorded.observations("label-histogram") == []
    assert recorded.notices() == {"label histograms": "more than 4,096 labels in a batch"}


@pytest.mark.parametrize("size", [2, 5000])
def test_a_repeated_batch_is_recognized(size: int) -> None:
    with watched() as recorded:
        network = classifier()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        first, second = torch.randn(size, 3), torch.randn(size, 3)
        for points in (first, second, first.clone(), {"points": second}):
            batches = points["points"] if isinstance(points, dict) else points
            network(batches).sum().backward()
            optimizer.step()

    rows = recorded.observations("batch-hash")
    checksums = [row["value"] for row in rows]
    assert [row["step"] for row in rows] == [0, 1, 2, 3]
    assert checksums[:2] == checksums[2:]
    assert checksums[0] != checksums[1]


def test_a_training_batch_used_in_an_evaluation_is_recognized() -> None:
    with watched() as recorded:
        network = classifier()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        batch = torch.randn(5, 3)
        network(batch).sum().backward()
        optimizer.step()
        network.eval()
        with torch.no_grad():
            network(batch.clone())

    trained, evaluated = recorded.observations("batch-hash")
    assert (trained["mode"], evaluated["mode"]) == ("train", "eval")
    assert trained["value"] == evaluated["value"]


def test_a_non_contiguous_batch_has_no_fingerprint() -> None:
    with watched() as recorded:
        network = classifier()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        network(torch.randn(3, 5).t()).sum().backward()
        optimizer.step()

    assert recorded.observations("batch-hash") == []


def test_functions_that_use_losses_can_be_scripted() -> None:
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    from tests.hook.torch import scripted  # noqa: PLC0415

    with watched():
        points, labels = torch.randn(4, 2), torch.tensor([0, 1, 1, 0])
        loss = torch.jit.script(scripted.loss)(points, labels)
        module = torch.jit.script(nn.CrossEntropyLoss())
        criterion = torch.jit.script(functional.cross_entropy)

        assert float(loss) == pytest.approx(2 * float(original_cross_entropy(points, labels)))
        assert float(module(points, labels)) == float(criterion(points, labels))


def test_loss_functions_can_be_pickled_while_wrapped() -> None:
    with watched():
        pickled = pickle.dumps(functional.cross_entropy)
        file = io.BytesIO()
        torch.save(nn.CrossEntropyLoss(), file)

        assert pickle.loads(pickled) is functional.cross_entropy
    assert b"sonde" not in pickled + file.getvalue()
    assert functional.cross_entropy is original_cross_entropy


def test_losses_can_be_compiled_with_the_model() -> None:
    with watched("labels") as recorded:
        network = classifier()
        torch._dynamo.reset()

        @torch.compile(backend="aot_eager", fullgraph=True)
        def loss_of(points: Tensor, labels: Tensor) -> Any:
            return functional.cross_entropy(network(points), labels)

        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        loss = loss_of(*batch())
        loss.backward()
        optimizer.step()

    assert recorded.scalars("loss") == {0: float(loss.detach())}
