"""Doubled softmax is detected in the graph of a custom loss."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.fakes.session import Recorded, Row, watched

Loss = Callable[[Tensor, Tensor], Any]


def train(end: nn.Module, make_loss: Callable[[], Loss]) -> Recorded:
    with watched(needed=None, overhead_percent=100.0) as recorded:
        loss = make_loss()
        network = nn.Sequential(nn.Linear(3, 4), end)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
        for _ in range(4):
            optimizer.zero_grad()
            loss(network(torch.randn(5, 3)), torch.randint(0, 4, (5,))).backward()
            optimizer.step()
    return recorded


def smoothed(output: Tensor, labels: Tensor) -> Tensor:
    logarithms = output.log_softmax(-1)
    chosen = logarithms.gather(1, labels.unsqueeze(1)).squeeze(1)
    return -(0.9 * chosen + 0.1 * logarithms.mean(1)).mean()


class FocalLoss(nn.Module):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        losses = functional.cross_entropy(output, labels, reduction="none")
        return ((1 - torch.exp(-losses)) ** 2 * losses).mean()


def graph_observations(recorded: Recorded) -> list[Row]:
    rows = recorded.observations("probabilities-as-logits")
    return [row for row in rows if row["subject"] == "log_softmax"]


def test_a_softmax_before_a_log_softmax_is_detected() -> None:
    for make_loss in (lambda: smoothed, FocalLoss):
        rows = graph_observations(train(nn.Softmax(1), make_loss))
        assert {row["value"] for row in rows} == {1.0}
        assert {row["detail"] for row in rows} == {'{"rows":5,"classes":4,"by":"Softmax"}'}
        assert [row["step"] for row in rows][:2] == [0, 1]


def test_logits_are_not_reported() -> None:
    for end in (nn.Identity(), nn.LogSoftmax(1), nn.Tanh()):
        assert graph_observations(train(end, lambda: smoothed)) == []
