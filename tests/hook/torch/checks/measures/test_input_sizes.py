"""Changed sample sizes and new optimizers are recorded at their first step."""

from collections.abc import Iterable

import pytest
import torch
from torch import Tensor, nn

from sonde.hook.torch.loop import deferral_policy, deferred_hooks
from tests.fakes.session import Recorded, watched

NEEDED = ("samples-again", "input-size", "new-optimizer")


@pytest.fixture(autouse=True)
def without_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Defer as many steps as possible, even on a slow machine."""
    monkeypatch.setattr(deferred_hooks, "_MAX_DELAY_NS", 10**15)
    monkeypatch.setattr(deferral_policy, "_INSPECTION_INTERVAL_SECONDS", 1000.0)


class MeanOfSequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(2, 1)

    def forward(self, sequence: Tensor) -> Tensor:
        output: Tensor = self.out(sequence.mean(1))
        return output


def train(
    lengths: Iterable[int], *, closely: bool = False, second_optimizer_at: int | None = None
) -> Recorded:
    with watched(closely=closely, needed=NEEDED) as recorded:
        model = MeanOfSequence()
        first, second = (torch.optim.SGD(model.parameters(), lr=0.01) for _ in range(2))
        for step, length in enumerate(lengths):
            is_second = second_optimizer_at is not None and step >= second_optimizer_at
            optimizer = second if is_second else first
            optimizer.zero_grad()
            loss = model(torch.randn(4, length, 2)).square().mean()
            loss.backward()
            optimizer.step()
    return recorded


def sizes(recorded: Recorded) -> list[tuple[int, float]]:
    return [(row["step"], row["value"]) for row in recorded.observations("input-size")]


@pytest.mark.parametrize("closely", [True, False])
def test_longer_sequences_are_recorded_at_their_first_step(closely: bool) -> None:
    recorded = train([5] * 33 + [9] * 20, closely=closely)
    assert sizes(recorded) == [(33, 18.0)]


def test_sequences_of_varying_length_are_not_a_size_change() -> None:
    assert sizes(train([3 + step % 7 for step in range(60)])) == []


@pytest.mark.parametrize("closely", [True, False])
def test_an_optimizer_created_early_is_recorded_at_its_first_step(closely: bool) -> None:
    recorded = train([5] * 40, closely=closely, second_optimizer_at=25)
    rows = recorded.observations("new-optimizer")
    assert [(row["subject"], row["step"]) for row in rows] == [("0", 0), ("1", 25)]
