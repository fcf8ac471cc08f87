"""While hooks rest, steps are counted exactly, losses are recorded and modules have no hooks."""

import copy
import gc
import pickle
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import sonde
import sonde.hook.rest_schedule as module
from sonde.hook.budget import Budget
from sonde.hook.session import Session
from tests.fakes.session import Recorded, watched

STEPS = 300
_PACKAGE = str(Path(sonde.__file__).parent)


@pytest.fixture(autouse=True)
def spent_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make hooks rest as soon as possible, and return when something is due."""
    monkeypatch.setattr(Budget, "records_every_step", False)
    monkeypatch.setattr(Budget, "inspection_share", lambda *_: 1e9)
    monkeypatch.setattr(Budget, "steps_until_inspection", lambda *_: 20)
    monkeypatch.setattr(Budget, "has_room_for_inspection", True)
    monkeypatch.setattr(module, "_MAX_DELAY_NS", 10**15)
    monkeypatch.setattr(module, "_LOSS_SHARE", 1e9)
    monkeypatch.setattr("sonde.hook.torch.loop.deferral_policy._MIN_BUDGET_USE", 0.0)


class Script:
    """A plain loop that keeps the expected losses."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model: Any = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.optimizer: Any = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.second: Any = None  # another optimizer
        self.scheduler: Any = None
        self.losses: list[float] = []
        self.evaluated: list[float] = []

    def loss(self) -> Any:
        return functional.cross_entropy(self.model(torch.randn(5, 4)), torch.randint(0, 3, (5,)))

    def step(self) -> None:
        loss = self.loss()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.losses.append(loss.item())

    def train(self, steps: int = STEPS) -> None:
        for _ in range(steps):
            self.step()

    def evaluate(self, batches: int = 3) -> None:
        self.model.eval()
        with torch.no_grad():
            for _ in range(batches):
                self.evaluated.append(self.loss().item())
        self.model.train()


@contextmanager
def watched_script() -> Iterator[tuple[Script, Recorded]]:
    with watched(closely=False, rests=True) as recorded:
        yield Script(), recorded


def hooks_of(model: nn.Module) -> int:
    return sum(
        len(hooks._forward_hooks) + len(hooks._forward_pre_hooks) for hooks in model.modules()
    )


def test_steps_are_counted_exactly_and_follow_each_other_without_a_gap() -> None:
    with watched_script() as (script, recorded):
        script.train()

    steps = [row for row in recorded.rows["events"] if row["category"] == "step"]
    assert [row["step"] for row in steps] == list(range(STEPS))
    ends = [row["start_ns"] + row["duration_ns"] for row in steps]
    assert [row["start_ns"] for row in steps[1:]] == ends[:-1]
    assert sum("timed" in row["detail"] for row in steps) > STEPS / 2


def test_every_step_has_the_loss_that_the_script_saw() -> None:
    with watched_script() as (script, recorded):
        script.train()

    assert recorded.scalars("loss") == dict(enumerate(script.losses))


def test_losses_of_accumulated_steps_are_the_means_of_their_micro_steps() -> None:
    expected = []
    with watched_script() as (script, recorded):
        for _ in range(STEPS):
            parts = [script.loss() / 2, script.loss() / 2]
            for part in parts:
                part.backward()
            script.optimizer.step()
            script.optimizer.zero_grad()
            expected.append(sum(part.item() for part in parts))

    losses = recorded.scalars("loss")
    assert [losses[step] for step in range(STEPS)] == pytest.approx(expected, rel=1e-12)


def test_each_of_several_optimizers_has_its_losses_at_every_step() -> None:
    first, second = [], []
    with watched_script() as (script, recorded):
        other = nn.Linear(4, 3)
        script.second = torch.optim.SGD(other.parameters(), lr=0.1)
        for _ in range(STEPS):
            script.step()
            script.second.zero_grad()
            loss = other(torch.randn(5, 4)).pow(2).mean()
            loss.backward()
            script.second.step()
            first.append(script.losses[-1])
            second.append(loss.item())

    assert recorded.scalars("loss/0") == dict(enumerate(first))
    assert recorded.scalars("loss/1") == dict(enumerate(second))


def test_losses_are_those_before_a_gradient_scaler_and_skipped_steps_are_recorded() -> None:
    skipped_step = 200
    with watched_script() as (script, recorded):
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        rested = 0
        for step in range(STEPS):
            rested += recorded.session.state.is_resting
            loss = script.loss()
            scaler.scale(loss).backward()
            if step == skipped_step:
                script.model[0].weight.grad.fill_(float("inf"))
            scaler.step(script.optimizer)
            scaler.update()
            script.optimizer.zero_grad()
            script.losses.append(loss.item())

    steps = [row for row in recorded.rows["events"] if row["category"] == "step"]
    skipped = [row["step"] for row in steps if "skipped" in row["detail"]]
    losses = recorded.scalars("loss")
    assert rested > STEPS / 2
    assert (len(steps), skipped) == (STEPS, [skipped_step])
    assert {step: losses[step] for step in losses} == {step: script.losses[step] for step in losses}
    assert set(range(STEPS)) - set(losses) <= {skipped_step}


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat all tensors as if they were on a device, whose work is always finished."""
    scalars = "sonde.hook.torch.tensors.device_scalars"
    policy = "sonde.hook.torch.loop.deferral_policy"
    monkeypatch.setattr(torch.Tensor, "is_cpu", property(lambda _: False), raising=False)
    monkeypatch.setattr(f"{scalars}._pinned_memory", lambda count: torch.empty(count).double())
    monkeypatch.setattr(f"{scalars}._event_after_work", lambda _: Finished())
    monkeypatch.setattr(f"{policy}._is_cuda_in_use", lambda: True)


class Finished:
    def query(self) -> bool:
        return True


@pytest.mark.usefixtures("device")
def test_losses_and_norms_on_a_device_are_recorded_without_reading_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads, norms = 0, []

    def count_read(tensor: torch.Tensor) -> float:
        nonlocal reads
        reads += recorded.session.state.is_resting
        return float(tensor.detach())

    with watched_script() as (script, recorded):
        losses = []
        for _ in range(STEPS):
            loss = script.loss()
            with monkeypatch.context() as patched:
                patched.setattr(torch.Tensor, "item", count_read)
                loss.backward()
                norms.append(nn.utils.clip_grad_norm_(script.model.parameters(), 0.1))
                script.optimizer.step()
            script.optimizer.zero_grad()
            losses.append(loss)

    assert reads == 0
    assert recorded.scalars("loss") == {step: loss.item() for step, loss in enumerate(losses)}
    assert recorded.scalars("gradient_norm") == {
        step: norm.item() for step, norm in enumerate(norms)
    }
    assert recorded.scalars("clip_factor")[STEPS - 1] == pytest.approx(0.1 / norms[-1].item(), 1e-4)


@pytest.mark.usefixtures("device")
def test_a_number_of_a_device_that_is_not_finite_ends_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Budget, "steps_until_inspection", lambda *_: 10**6)
    with watched_script() as (script, recorded):
        session = recorded.session
        script.train(9)
        assert session.state.is_resting
        session.recorder.scalar("loss", float("nan"), at=("train", 5))
        script.step()
        has_ended = not session.state.is_resting
        script.train(5)
        session.recorder.scalar("loss", float("nan"), at=("train", 6))
        script.step()
        is_resting = session.state.is_resting

    assert (has_ended, is_resting) == (True, True)


def test_hooks_are_removed_from_modules_at_rest_and_restored() -> None:
    with watched_script() as (script, recorded):
        script.train(9)
        resting = (recorded.session.state.is_resting, hooks_of(script.model))
        recorded.session.state.catch_up()
        awake = (recorded.session.state.is_resting, hooks_of(script.model))

    assert resting == (True, 0)
    assert awake == (False, 2)


def test_models_are_copied_and_pickled_while_hooks_rest() -> None:
    with watched_script() as (script, recorded):
        script.model.criterion = functional.cross_entropy
        script.train(9)
        assert recorded.session.state.is_resting
        copies = [copy.deepcopy(script.model), pickle.loads(pickle.dumps(script.model))]
        recorded.session.state.catch_up()

    assert [hooks_of(duplicate) for duplicate in copies] == [0, 0]
    assert all(duplicate.criterion is script.model.criterion for duplicate in copies)


def test_an_evaluation_ends_the_rest_and_is_recorded() -> None:
    with watched_script() as (script, recorded):
        for _ in range(3):
            script.train(40)
            script.evaluate()

    assert list(recorded.scalars("loss", "eval").values()) == script.evaluated
    assert recorded.scalars("loss") == dict(enumerate(script.losses))


def test_expensive_evaluations_make_the_hooks_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Budget, "is_overdrawn", True)
    with watched_script() as (script, recorded):
        script.train(1)
        script.evaluate(20)
        assert recorded.session.state.is_resting
        assert hooks_of(script.model) == 0
        script.train(50)

    assert recorded.session.steps.counts["train"] == 51
    assert recorded.session.steps.counts["eval"] < 20


def test_alternating_optimizers_make_the_same_steps_as_under_inspection() -> None:
    def run(recorded: Recorded) -> int:
        first, second = Script(), Script()
        for step in range(60):
            first.step()
            first.step()
            second.step()
            if step % 5 == 0:
                first.step()
        return recorded.session.steps.counts["train"]

    with watched(closely=False, rests=True) as recorded:
        resting = run(recorded)
    with watched(closely=True) as recorded:
        inspected = run(recorded)

    assert abs(resting - inspected) <= 1


def test_closures_are_counted_with_their_losses() -> None:
    with watched_script() as (script, recorded):

        def closure() -> Any:
            script.optimizer.zero_grad()
            loss = script.loss()
            loss.backward()
            script.losses.append(loss.item())
            return loss

        for _ in range(100):
            script.optimizer.step(closure)

    assert recorded.session.steps.counts["train"] == 100
    assert recorded.scalars("loss") == dict(enumerate(script.losses))


def test_a_loss_that_is_not_finite_ends_the_rest_and_is_explained() -> None:
    with watched_script() as (script, recorded):
        for step in range(100):
            if step == 70:
                with torch.no_grad():
                    script.model[0].weight[0, 0] = float("nan")
            script.step()

    losses = recorded.scalars("loss")
    assert min(step for step, loss in losses.items() if loss != loss) == 70  # noqa: PLR0124
    assert recorded.observations("first-non-finite")


def test_non_finite_inputs_are_named_while_hooks_rest() -> None:
    with watched_script() as (script, recorded):
        script.train(50)
        assert recorded.session.state.is_resting
        batch = torch.randn(5, 4)
        batch[2, 1] = torch.nan
        loss: Any = functional.cross_entropy(script.model(batch), torch.randint(0, 3, (5,)))
        loss.backward()
        script.optimizer.zero_grad()

    (origin,) = recorded.observations("first-non-finite")
    assert '"in":"input"' in origin["detail"]


def test_clipped_gradient_norms_are_recorded_at_every_step() -> None:
    norms = []
    with watched_script() as (script, recorded):
        for _ in range(100):
            script.loss().backward()
            norms.append(nn.utils.clip_grad_norm_(script.model.parameters(), 0.01).item())
            script.optimizer.step()
            script.optimizer.zero_grad()

    assert recorded.scalars("gradient_norm") == dict(enumerate(norms))
    factors = recorded.scalars("clip_factor")
    assert factors == {step: min(1.0, 0.01 / (norm + 1e-6)) for step, norm in enumerate(norms)}


def test_other_hooks_and_functions_are_the_originals_while_hooks_rest() -> None:
    zero_grad = torch.optim.Optimizer.zero_grad
    with watched_script() as (script, recorded):
        replaced = torch.optim.Optimizer.zero_grad
        script.train(9)
        assert recorded.session.state.is_resting
        resting = torch.optim.Optimizer.zero_grad
        recorded.session.state.catch_up()
        awake = torch.optim.Optimizer.zero_grad

    assert replaced is awake is not zero_grad
    assert resting is zero_grad


def test_a_new_loss_function_ends_the_rest_and_is_recorded_at_its_step() -> None:
    with watched(closely=False, rests=True, needed=("loss-kind",)) as recorded:
        script: Any = Script()
        script.train(70)
        script.loss = lambda: script.model(torch.randn(5, 4)).square().mean()
        script.train(30)

    assert [row["step"] for row in recorded.observations("loss-kind")] == [0, 70]


def test_learning_rates_are_recorded_where_they_change() -> None:
    with watched_script() as (script, recorded):
        for step in range(100):
            if step == 75:
                script.optimizer.param_groups[0]["lr"] = 0.05
            script.step()

    rates = recorded.scalars("learning_rate/0")
    assert rates[75] == 0.05
    assert all(rate == (0.05 if step >= 75 else 0.1) for step, rate in rates.items())


def test_values_logged_by_the_script_belong_to_the_finished_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with watched_script() as (script, recorded):
        monkeypatch.setattr(Session, "_current", recorded.session)
        for step in range(60):
            script.step()
            sonde.log(number=step)

    assert recorded.scalars("number") == {step: float(step) for step in range(60)}


def test_no_object_of_the_script_is_kept_alive_while_hooks_rest() -> None:
    with watched(closely=False, rests=True):
        script = Script()
        script.train(30)
        references = [weakref.ref(reference) for reference in (script.optimizer, script.model)]
        del script
        gc.collect()
        alive = [reference() for reference in references]

    assert alive == [None, None]


def test_hooks_do_not_rest_with_compiled_models() -> None:
    with watched_script() as (script, recorded):
        torch.compile(script.model, backend="eager")
        script.train(30)
        assert not recorded.session.state.is_resting


def test_reduced_recording_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MIN_REPORTED_STEPS", 100)
    with watched_script() as (script, recorded):
        script.train()

    assert "timed for about 1 in" in recorded.notices()["phases of steps"]


def _step(script: Script, loss: Any) -> None:
    loss.backward()
    script.optimizer.step()
    script.optimizer.zero_grad()


def _clipped(script: Script) -> None:
    script.loss().backward()
    nn.utils.clip_grad_norm_(script.model.parameters(), 0.1)
    script.optimizer.step()
    script.optimizer.zero_grad()


def _accumulated(script: Script) -> None:
    (script.loss() / 2).backward()
    _step(script, script.loss() / 2)


def _scheduled(script: Script) -> None:
    script.scheduler = script.scheduler or torch.optim.lr_scheduler.StepLR(script.optimizer, 1000)
    _step(script, script.loss())
    script.scheduler.step()


def _both(script: Script) -> None:
    script.second = script.second or torch.optim.SGD(script.model.parameters(), lr=0.01)
    _step(script, script.loss())
    script.loss().backward()
    script.second.step()
    script.second.zero_grad()


@pytest.mark.parametrize(
    ("step", "call_count"),
    [
        (lambda script: _step(script, script.loss()), 4),  # loss, backward, optimizer twice
        (_clipped, 8),
        (_accumulated, 8),
        (_scheduled, 4),
        (_both, 8),
    ],
    ids=["plain", "clipping", "accumulation", "scheduler", "two-optimizers"],
)
def test_a_step_at_rest_calls_few_functions_of_sonde(
    step: Callable[[Script], None], call_count: int
) -> None:
    with watched_script() as (script, recorded):
        script.scheduler = torch.optim.lr_scheduler.StepLR(script.optimizer, 1000)
        script.second = torch.optim.SGD(script.model.parameters(), lr=0.01)
        counts = [_calls_at_rest(recorded.session, lambda: step(script)) for _ in range(100)]

    calls = [count for count in counts if count is not None]
    assert len(calls) > 40
    assert median(calls) == call_count


def _calls_at_rest(session: Session, function: Callable[[], None]) -> int | None:
    """Number of Python functions of Sonde called by a function; None if hooks do not rest."""
    was_resting, calls = session.state.is_resting, 0

    def count(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(_PACKAGE)

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls if was_resting and session.state.is_resting else None


def test_every_loss_is_recorded_at_the_beginning_even_if_that_is_not_affordable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_LOSS_SHARE", 1e-9)
    with watched_script() as (script, recorded):
        script.train(STEPS)
        monkeypatch.setattr(Budget, "is_beginning", False)
        script.train(STEPS)

    losses = recorded.scalars("loss")
    assert {step: losses.get(step) for step in range(STEPS)} == dict(
        enumerate(script.losses[:STEPS])
    )
    assert len(losses) < 1.5 * STEPS
