"""Quiet steps leave nothing out that is recorded of every step."""

from collections.abc import Callable
from math import isnan
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import sonde.collect.torch.quiet as module
from tests.fakes.session import Recorded, watched

STEPS = 200


@pytest.fixture(autouse=True)
def without_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine, too, there are as many quiet steps as there can be."""
    monkeypatch.setattr(module, "_LONGEST_NS", 10**15)
    monkeypatch.setattr(module, "_WATCHING_SECONDS", 1000.0)


class Script:
    """A plain loop; its own account of what it did."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model: Any = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.optimizer: Any = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.losses: list[float] = []

    def loss(self) -> Any:
        return functional.cross_entropy(self.model(torch.randn(5, 4)), torch.randint(0, 3, (5,)))

    def step(self, divisor: int = 1) -> None:
        parts = []
        for _ in range(divisor):
            loss = self.loss()
            parts.append(loss.item())
            (loss / divisor if divisor > 1 else loss).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.losses.append(sum(parts) / divisor)


def recorded_of(run: Callable[[Script], None], *saves: str) -> tuple[Script, Recorded]:
    with watched(*saves, closely=False) as recorded:
        script = Script()
        run(script)
    return script, recorded


def plain(script: Script) -> None:
    for _ in range(STEPS):
        script.step()


def test_most_steps_of_a_plain_loop_are_quiet() -> None:
    _, recorded = recorded_of(plain)

    closely = {row["step"] for row in recorded.rows["observations"] if row["kind"] == "batch-hash"}
    assert 0 < len(closely) < STEPS / 2


def test_every_step_has_its_loss_and_its_phases() -> None:
    script, recorded = recorded_of(plain)

    assert list(recorded.scalars("loss").values()) == script.losses
    for step in range(STEPS):
        assert recorded.phases(step=step) == ["forward", "backward", "optimizer"]


def test_steps_follow_each_other_without_a_gap() -> None:
    _, recorded = recorded_of(plain)

    steps = [row for row in recorded.rows["events"] if row["category"] == "step"]
    ends = [row["start_ns"] + row["duration_ns"] for row in steps]
    assert [row["start_ns"] for row in steps[1:]] == ends[:-1]


def test_losses_carry_the_time_of_their_step() -> None:
    _, recorded = recorded_of(plain)

    steps = {
        row["step"]: row["start_ns"] + row["duration_ns"]
        for row in recorded.rows["events"]
        if row["category"] == "step"
    }
    for row in recorded.rows["scalars"]:
        if row["name"] == "loss":
            assert abs(row["time_ns"] - steps[row["step"]]) < 5_000_000_000


def test_data_is_waited_for_in_quiet_steps_too() -> None:
    def loop(script: Script) -> None:
        loader = DataLoader(TensorDataset(torch.randn(60, 4), torch.randint(0, 3, (60,))), 1)
        for features, labels in loader:
            loss: Any = functional.cross_entropy(script.model(features), labels)
            loss.backward()
            script.optimizer.step()

    _, recorded = recorded_of(loop)

    for step in range(60):
        assert recorded.phases(step=step).count("data_wait") == 1


def test_accumulation_in_quiet_steps_is_accumulation() -> None:
    def loop(script: Script) -> None:
        for _ in range(STEPS):
            script.step(divisor=2)

    script, recorded = recorded_of(loop)

    assert list(recorded.scalars("loss").values()) == pytest.approx(script.losses)
    assert set(recorded.scalars("loss/factor").values()) == {2.0}
    assert recorded.phases(step=STEPS - 1).count("backward") == 2


def test_learning_rates_that_change_are_recorded_where_they_do() -> None:
    def loop(script: Script) -> None:
        for step in range(STEPS):
            if step == 150:
                script.optimizer.param_groups[0]["lr"] = 0.05
            script.step()

    _, recorded = recorded_of(loop)

    rates = recorded.scalars("learning_rate/0")
    assert rates[150] == 0.05
    assert all(rate == (0.05 if step >= 150 else 0.1) for step, rate in rates.items())


def test_what_is_asked_for_comes_exactly_when_it_is_due() -> None:
    _, recorded = recorded_of(plain, "weights:every=7,values")

    assert sorted(step for _, step in recorded.values) == list(range(0, STEPS, 7))


def test_an_evaluation_between_quiet_steps_is_seen() -> None:
    def loop(script: Script) -> None:
        for step in range(STEPS):
            script.step()
            if step % 50 == 49:
                script.model.eval()
                with torch.no_grad():
                    script.loss()
                script.model.train()

    _, recorded = recorded_of(loop)

    assert len(recorded.scalars("loss", "eval")) == 4
    assert len(recorded.scalars("loss")) == STEPS


def test_a_pass_that_raises_in_a_quiet_step_leaves_the_next_ones_right() -> None:
    def loop(script: Script) -> None:
        for step in range(STEPS):
            if step == 100:
                with pytest.raises(RuntimeError):
                    script.model(torch.randn(5, 99))
            script.step()

    script, recorded = recorded_of(loop)

    assert list(recorded.scalars("loss").values()) == script.losses
    assert recorded.phases(step=STEPS - 1) == ["forward", "backward", "optimizer"]


def test_a_second_optimizer_ends_the_quiet() -> None:
    def loop(script: Script) -> None:
        plain(script)
        other = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
        for _ in range(10):
            script.step()
            other.param_groups[0]["params"][0].square().sum().backward()
            other.step()

    _, recorded = recorded_of(loop)

    assert recorded.session.steps.counts["train"] == STEPS + 10


def test_a_loss_that_turns_bad_in_a_quiet_step_is_recorded() -> None:
    def loop(script: Script) -> None:
        for step in range(STEPS):
            if step == 120:
                with torch.no_grad():
                    script.model[0].weight[0, 0] = float("nan")
            script.step()

    _, recorded = recorded_of(loop)

    losses = recorded.scalars("loss")
    assert next(step for step, loss in losses.items() if isnan(loss)) == 120
    assert recorded.observations("first-non-finite")
