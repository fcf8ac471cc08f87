"""Inputs of loss functions: probabilities, hits and labels, in training and evaluation."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.fakes.session import Recorded, Row, watched


def trained(classes: int, loss: Callable[[Tensor], Any]) -> Recorded:
    """Train one step of a model whose outputs are between 0 and 1."""
    with watched(needed=None) as recorded:
        model = nn.Linear(5, classes)
        nn.init.constant_(model.weight, 0.0)
        nn.init.uniform_(model.bias, 0.4, 0.6)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        loss(model(torch.randn(8, 5))).backward()
        optimizer.step()
    return recorded


def probabilities(recorded: Recorded) -> tuple[str, float, Row]:
    (row,) = recorded.observations("probabilities-as-logits")
    return row["subject"], row["value"], json.loads(row["detail"])


LABELS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 0])


def test_softmax_before_cross_entropy_is_recorded() -> None:
    recorded = trained(3, lambda out: functional.cross_entropy(out.softmax(1), LABELS))

    facts = {"rows": 8, "classes": 3, "by": "Softmax"}
    assert probabilities(recorded) == ("cross_entropy", 1.0, facts)


@pytest.mark.parametrize(
    "transform",
    [lambda out: out, torch.relu, lambda out: out.softmax(1) * 2, lambda out: out.log_softmax(1)],
)
def test_logits_are_not_recorded_as_probabilities(transform: Callable[[Tensor], Tensor]) -> None:
    recorded = trained(3, lambda out: functional.cross_entropy(transform(out), LABELS))

    assert probabilities(recorded)[1] == 0.0


def test_sigmoid_before_a_logit_loss_is_recorded_but_a_linear_layer_is_not() -> None:
    def record(transform: Callable[[Tensor], Tensor]) -> Recorded:
        def loss(out: Tensor) -> Tensor:
            logits = transform(out.squeeze(1))
            return functional.binary_cross_entropy_with_logits(logits, torch.ones(8))

        return trained(1, loss)

    assert probabilities(record(torch.sigmoid))[1] == 1.0
    name, value, facts = probabilities(record(lambda out: out))
    assert (name, value, facts["by"]) == ("binary_cross_entropy_with_logits", 0.0, "Addmm")


def test_pixels_of_images_are_rows() -> None:
    labels = torch.randint(0, 4, (2, 6, 6))
    with watched(needed=("*",)) as recorded:
        model = nn.Conv2d(1, 4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        output = model(torch.randn(2, 1, 6, 6)).softmax(1)
        loss: Any = functional.cross_entropy(output, labels)
        loss.backward()
        optimizer.step()

    assert probabilities(recorded) == (
        *("cross_entropy", 1.0),
        {"rows": 36, "classes": 4, "by": "Softmax"},
    )
    (row,) = recorded.observations("label-batch")
    assert row["value"] == 72
    counts = torch.bincount(labels.reshape(-1)).tolist()
    assert json.loads(row["detail"]) == {str(label): count for label, count in enumerate(counts)}


def test_hits_and_labels_are_counted_without_ignored_labels() -> None:
    output = functional.one_hot(torch.tensor([0, 0, 1, 2, 2]), 3).float()
    labels = torch.tensor([0, 1, 1, -100, 2])
    with watched(needed=("class-hits", "label-batch")) as recorded:
        scale = nn.Linear(1, 1)
        optimizer = torch.optim.SGD(scale.parameters(), lr=0.0)
        factor = scale(torch.ones(1))
        (functional.cross_entropy(output, labels) * factor).sum().backward()
        optimizer.step()

    (hits,) = recorded.observations("class-hits")
    assert (hits["value"], hits["mode"], hits["step"]) == (4, "train", 0)
    assert json.loads(hits["detail"]) == {"0": [1, 0], "1": [1, 1], "2": [1, 0]}
    (batch,) = recorded.observations("label-batch")
    assert json.loads(batch["detail"]) == {"0": 1, "1": 2, "2": 1}
    assert recorded.observations("probabilities-as-logits") == []


def test_binary_predictions_are_split_at_the_decision_threshold() -> None:
    labels = torch.tensor([[1.0], [0.0], [1.0]])

    def loss(out: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(
            out[:3] * 0 + torch.tensor([[2.0], [1.0], [-1.0]]), labels
        )

    (hits,) = trained(1, loss).observations("class-hits")
    assert json.loads(hits["detail"]) == {"0": [0, 1], "1": [1, 1]}


def test_evaluations_record_separate_hits() -> None:
    with watched(needed=("class-hits",)) as recorded:
        model = nn.Linear(5, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            loss: Any = functional.cross_entropy(model(torch.randn(8, 5)), LABELS)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            for _ in range(2):
                functional.cross_entropy(model(torch.randn(8, 5)), LABELS)

    rows = recorded.observations("class-hits")
    assert [(row["mode"], row["step"]) for row in rows] == [
        *(("train", 0), ("train", 1), ("eval", 0), ("eval", 1))
    ]


def test_regression_losses_and_models_with_many_classes_are_skipped() -> None:
    def regression(out: Tensor) -> Any:
        return functional.mse_loss(out, torch.zeros(8, 3))

    def many_classes(out: Tensor) -> Any:
        wide = out.repeat(1, 500)
        return functional.cross_entropy(wide, LABELS)

    for loss in (regression, many_classes):
        assert trained(3, loss).observations("class-hits") == []
