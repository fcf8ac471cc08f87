"""Quiet steps leave nothing out that is recorded of every step."""

import gc
import weakref
from collections.abc import Callable
from math import isnan
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import sonde.hook.torch.loop.deferred_hooks as module
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
        self.evaluated: list[float] = []

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


def evaluate(script: Script, batches: int = 3) -> None:
    script.model.eval()
    with torch.no_grad():
        for _ in range(batches):
            script.evaluated.append(script.loss().item())
    script.model.train()


def test_evaluations_between_quiet_steps_are_seen_with_their_losses() -> None:
    def loop(script: Script) -> None:
        for step in range(STEPS):
            script.step()
            if step % 50 == 49:
                evaluate(script)

    script, recorded = recorded_of(loop)

    assert list(recorded.scalars("loss", "eval").values()) == script.evaluated
    assert list(recorded.scalars("loss").values()) == script.losses
    assert recorded.phases("eval", 11) == ["forward"]
    assert recorded.phases(step=50).count("evaluation") == 1


def test_evaluations_are_noted_in_the_quiet_and_seen_closely_where_something_is_asked_of_them() -> (
    None
):
    def loop(script: Script) -> None:
        for _ in range(30):
            script.step()
        evaluate(script, 40)

    _, recorded = recorded_of(loop, "outputs:eval.every=10,values")

    assert sorted(step for mode, step in recorded.values if mode == "eval") == [0, 10, 20, 30]


def test_a_long_evaluation_does_not_pile_up_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_NOTES", 20)
    most = 0

    def loop(script: Script) -> None:
        nonlocal most
        for _ in range(50):
            script.step()
        for _ in range(20):
            evaluate(script, 10)
            most = max(most, len(recorded.session.state.catch_up.__self__.notes))  # type: ignore[attr-defined]

    with watched(closely=False) as recorded:
        script = Script()
        loop(script)

    assert most <= 21
    assert list(recorded.scalars("loss", "eval").values()) == script.evaluated


def test_a_model_that_returns_its_loss_is_believed() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, features: torch.Tensor) -> dict[str, torch.Tensor]:
            output = self.layer(features)
            labels = torch.zeros(len(features), dtype=torch.int64)
            return {"loss": 2 * functional.cross_entropy(output, labels), "output": output}

    def loop(script: Script) -> None:
        model: Any = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        script.optimizer = None
        for step in range(60):
            model(torch.randn(5, 4))["loss"].backward()
            optimizer.step()
            if step % 20 == 19:
                model.eval()
                with torch.no_grad():
                    script.evaluated.append(model(torch.randn(5, 4))["loss"].item())
                model.train()

    script, recorded = recorded_of(loop)

    assert list(recorded.scalars("loss", "eval").values()) == script.evaluated


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


@pytest.mark.parametrize("steps", [4, 30])
def test_nothing_of_a_model_is_kept_when_the_script_has_forgotten_it(steps: int) -> None:
    def forgotten() -> list[weakref.ref[Any]]:
        script = Script()
        for _ in range(steps):
            script.step()
        return [weakref.ref(one) for one in (script.optimizer, *script.model.parameters())]

    with watched(closely=False, statistics=("weights", "gradients")):
        references = forgotten()
        gc.collect()
        alive = [one() for one in references]

    assert alive == [None] * 5


def test_the_next_model_of_a_script_is_alone_again() -> None:
    with watched(closely=False) as recorded:
        for _ in range(2):
            plain(Script())
            gc.collect()

    assert recorded.scalars("learning_rate/0")
    assert recorded.scalars("learning_rate/1/0") == {}
    assert max(recorded.scalars("loss")) == 2 * STEPS - 1


def test_a_step_in_which_the_quiet_ends_is_counted() -> None:
    def loop(script: Script) -> None:
        model = script.model
        script.optimizer.register_step_post_hook(lambda *_: model.eval()(torch.ones(1, 4)))
        for _ in range(STEPS):
            model.train()
            script.step()

    script, recorded = recorded_of(loop)

    assert list(recorded.scalars("loss").values()) == script.losses


def test_roots_that_are_no_plain_numbers_are_backpropagated_in_the_quiet() -> None:
    weight: Any = torch.ones((), dtype=torch.complex64, requires_grad=True)

    def loop(script: Script) -> None:
        plain(script)
        (2 * weight).backward(gradient=torch.ones((), dtype=torch.complex64))

    recorded_of(loop)

    assert weight.grad == 2.0


def test_losses_of_single_samples_are_computed_in_the_quiet() -> None:
    def loop(script: Script) -> None:
        plain(script)
        script.model.eval()
        with torch.no_grad():
            output = script.model(torch.randn(5, 4))
            labels = torch.zeros(5, dtype=torch.int64)
            script.evaluated = torch.vmap(functional.cross_entropy)(output, labels).tolist()

    script, _ = recorded_of(loop)

    assert len(script.evaluated) == 5


def test_evaluations_are_seen_after_one_that_raised_in_the_quiet() -> None:
    def loop(script: Script) -> None:
        plain(script)
        script.model.eval()
        with torch.no_grad(), pytest.raises(RuntimeError):
            script.model(torch.randn(5, 99))
        evaluate(script, 7)

    script, recorded = recorded_of(loop)

    assert list(recorded.scalars("loss", "eval").values()) == script.evaluated


@pytest.mark.parametrize("step", [4, 100, 133])
def test_bad_data_in_a_quiet_step_is_found_to_be_bad_data(step: int) -> None:
    def loop(script: Script) -> None:
        for number in range(STEPS):
            features = torch.randn(5, 4)
            if number == step:
                features[0, 0] = float("nan")
            loss: Any = script.model(features).square().mean()
            loss.backward()
            if number < step:
                script.optimizer.step()
            script.optimizer.zero_grad()

    _, recorded = recorded_of(loop)

    found = recorded.observations("first-non-finite")
    assert [(row["subject"], row["step"]) for row in found][:1] == [("input 0", step)]


def test_what_goes_into_a_model_is_not_kept_in_the_quiet() -> None:
    with watched(closely=False):
        script = Script()
        plain(script)
        features = torch.randn(5, 4)
        script.model(features)
        reference = weakref.ref(features)
        del features
        is_alive = reference() is not None

    assert not is_alive
