"""Deferred steps record everything that is recorded for every step."""

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

from sonde.hook.torch.loop import deferral_policy, deferred_hooks
from tests.fakes.session import Recorded, watched

STEPS = 200


@pytest.fixture(autouse=True)
def without_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Defer as many steps as possible, even on a slow machine."""
    monkeypatch.setattr(deferred_hooks, "_MAX_DELAY_NS", 10**15)
    monkeypatch.setattr(deferral_policy, "_INSPECTION_INTERVAL_SECONDS", 1000.0)


class Script:
    """A plain loop that keeps the expected losses."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model: Any = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.optimizer: Any = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.losses: list[float] = []
        self.evaluated: list[float] = []

    def loss(self) -> Any:
        return functional.cross_entropy(self.model(torch.randn(5, 4)), torch.randint(0, 3, (5,)))

    def step(self, divisor: int = 1) -> None:
        losses = []
        for _ in range(divisor):
            loss = self.loss()
            losses.append(loss.item())
            (loss / divisor if divisor > 1 else loss).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.losses.append(sum(losses) / divisor)


def recorded_of(run: Callable[[Script], None], *saves: str) -> tuple[Script, Recorded]:
    with watched(*saves, closely=False) as recorded:
        script = Script()
        run(script)
    return script, recorded


def plain(script: Script) -> None:
    for _ in range(STEPS):
        script.step()


def test_most_steps_of_a_plain_loop_are_deferred() -> None:
    _, recorded = recorded_of(plain)

    inspected = {
        row["step"] for row in recorded.rows["observations"] if row["kind"] == "batch-hash"
    }
    assert 0 < len(inspected) < STEPS / 2


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


def test_waits_for_data_are_recorded_in_deferred_steps() -> None:
    def loop(script: Script) -> None:
        loader = DataLoader(TensorDataset(torch.randn(60, 4), torch.randint(0, 3, (60,))), 1)
        for features, labels in loader:
            loss: Any = functional.cross_entropy(script.model(features), labels)
            loss.backward()
            script.optimizer.step()

    _, recorded = recorded_of(loop)

    for step in range(60):
        assert recorded.phases(step=step).count("data_wait") == 1


def test_micro_steps_are_recorded_in_deferred_steps() -> None:
    def loop(script: Script) -> None:
        for _ in range(STEPS):
            script.step(divisor=2)

    script, recorded = recorded_of(loop)

    assert list(recorded.scalars("loss").values()) == pytest.approx(script.losses)
    assert set(recorded.scalars("loss/factor").values()) == {2.0}
    assert recorded.phases(step=STEPS - 1).count("backward") == 2


def test_learning_rates_are_recorded_at_the_step_where_they_change() -> None:
    def loop(script: Script) -> None:
        for step in range(STEPS):
            if step == 150:
                script.optimizer.param_groups[0]["lr"] = 0.05
            script.step()

    _, recorded = recorded_of(loop)

    rates = recorded.scalars("learning_rate/0")
    assert rates[150] == 0.05
    assert all(rate == (0.05 if step >= 150 else 0.1) for step, rate in rates.items())


def test_requested_tensors_are_recorded_exactly_when_due() -> None:
    _, recorded = recorded_of(plain, "weights:every=7,values")

    assert sorted(step for _, step in recorded.values) == list(range(0, STEPS, 7))


def evaluate(script: Script, batches: int = 3) -> None:
    script.model.eval()
    with torch.no_grad():
        for _ in range(batches):
            script.evaluated.append(script.loss().item())
    script.model.train()


def test_evaluations_between_deferred_steps_have_their_losses() -> None:
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


def test_evaluations_are_deferred_unless_tensors_are_requested() -> None:
    def loop(script: Script) -> None:
        for _ in range(30):
            script.step()
        evaluate(script, 40)

    _, recorded = recorded_of(loop, "outputs:eval.every=10,values")

    assert sorted(step for mode, step in recorded.values if mode == "eval") == [0, 10, 20, 30]


def test_notes_of_a_long_evaluation_are_replayed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_hooks, "_MAX_NOTES", 20)
    max_notes = 0

    def loop(script: Script) -> None:
        nonlocal max_notes
        for _ in range(50):
            script.step()
        for _ in range(20):
            evaluate(script, 10)
            max_notes = max(max_notes, len(recorded.session.state.catch_up.__self__.notes))  # type: ignore[attr-defined]

    with watched(closely=False) as recorded:
        script = Script()
        loop(script)

    assert max_notes <= 21
    assert list(recorded.scalars("loss", "eval").values()) == script.evaluated


def test_the_loss_returned_by_a_model_is_recorded_in_deferred_steps() -> None:
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


def test_steps_after_an_exception_in_a_deferred_pass_are_correct() -> None:
    def loop(script: Script) -> None:
        for step in range(STEPS):
            if step == 100:
                with pytest.raises(RuntimeError):
                    script.model(torch.randn(5, 99))
            script.step()

    script, recorded = recorded_of(loop)

    assert list(recorded.scalars("loss").values()) == script.losses
    assert recorded.phases(step=STEPS - 1) == ["forward", "backward", "optimizer"]


def test_a_second_optimizer_ends_deferral() -> None:
    def loop(script: Script) -> None:
        plain(script)
        second = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
        for _ in range(10):
            script.step()
            second.param_groups[0]["params"][0].square().sum().backward()
            second.step()

    _, recorded = recorded_of(loop)

    assert recorded.session.steps.counts["train"] == STEPS + 10


def test_a_non_finite_loss_in_a_deferred_step_is_recorded() -> None:
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
def test_a_model_deleted_by_the_script_is_not_kept_alive(steps: int) -> None:
    def forgotten() -> list[weakref.ref[Any]]:
        script = Script()
        for _ in range(steps):
            script.step()
        return [weakref.ref(item) for item in (script.optimizer, *script.model.parameters())]

    with watched(closely=False, statistics=("weights", "gradients")):
        references = forgotten()
        gc.collect()
        alive = [reference() for reference in references]

    assert alive == [None] * 5


def test_a_second_model_after_deletion_of_the_first_has_plain_names() -> None:
    with watched(closely=False) as recorded:
        for _ in range(2):
            plain(Script())
            gc.collect()

    assert recorded.scalars("learning_rate/0")
    assert recorded.scalars("learning_rate/1/0") == {}
    assert max(recorded.scalars("loss")) == 2 * STEPS - 1


def test_a_step_during_which_deferral_ends_is_counted() -> None:
    def loop(script: Script) -> None:
        model = script.model
        script.optimizer.register_step_post_hook(lambda *_: model.eval()(torch.ones(1, 4)))
        for _ in range(STEPS):
            model.train()
            script.step()

    script, recorded = recorded_of(loop)

    assert list(recorded.scalars("loss").values()) == script.losses


def test_losses_with_several_elements_work_in_deferred_steps() -> None:
    weight: Any = torch.ones((), dtype=torch.complex64, requires_grad=True)

    def loop(script: Script) -> None:
        plain(script)
        (2 * weight).backward(gradient=torch.ones((), dtype=torch.complex64))

    recorded_of(loop)

    assert weight.grad == 2.0


def test_per_sample_losses_work_in_deferred_steps() -> None:
    def loop(script: Script) -> None:
        plain(script)
        script.model.eval()
        with torch.no_grad():
            output = script.model(torch.randn(5, 4))
            labels = torch.zeros(5, dtype=torch.int64)
            script.evaluated = torch.vmap(functional.cross_entropy)(output, labels).tolist()

    script, _ = recorded_of(loop)

    assert len(script.evaluated) == 5


def test_evaluations_are_recorded_after_an_exception_in_a_deferred_one() -> None:
    def loop(script: Script) -> None:
        plain(script)
        script.model.eval()
        with torch.no_grad(), pytest.raises(RuntimeError):
            script.model(torch.randn(5, 99))
        evaluate(script, 7)

    script, recorded = recorded_of(loop)

    assert list(recorded.scalars("loss", "eval").values()) == script.evaluated


@pytest.mark.parametrize("step", [4, 100, 133])
def test_non_finite_inputs_in_a_deferred_step_are_identified(step: int) -> None:
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

    observations = recorded.observations("first-non-finite")
    assert [(row["subject"], row["step"]) for row in observations][:1] == [("input 0", step)]


def test_model_inputs_are_not_kept_alive_in_deferred_steps() -> None:
    with watched(closely=False):
        script = Script()
        plain(script)
        features = torch.randn(5, 4)
        script.model(features)
        reference = weakref.ref(features)
        del features
        is_alive = reference() is not None

    assert not is_alive
