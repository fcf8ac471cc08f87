"""The training loop in PyTorch."""

from typing import Any

import pytest
import torch
from torch import nn

from sonde.hook.tensors.collections import TensorRequest
from sonde.hook.tensors.tensor_recorder import SavedTensor
from sonde.hook.torch.tensors import full_values as values
from sonde.hook.torch.tensors.device_timing import Kernels
from sonde.hook.torch.tensors.due_tensors import DueTensors
from tests.fakes.session import watched


def model_and(optimizer: type[torch.optim.Optimizer], **settings: Any) -> tuple[Any, Any]:
    model = nn.Linear(4, 2)
    return model, optimizer(model.parameters(), **settings)


def loss_of(model: nn.Module) -> Any:
    return model(torch.ones(3, 4)).square().mean()


def test_steps_are_counted_when_recording_tensors_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_arguments: object) -> None:
        raise RuntimeError("broken recording")

    monkeypatch.setattr(DueTensors, "before_update", broken)
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for _ in range(5):
            loss_of(model).backward()
            optimizer.step()
        failed = recorded.session.guard.failed
        assert failed.pop("tensors") == "RuntimeError: broken recording"

    assert len(recorded.scalars("loss")) == 5


def test_a_closure_is_called_as_often_as_without_sonde() -> None:
    calls = 0
    with watched("gradients:every=1,values") as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        used = []

        def closure() -> Any:
            nonlocal calls
            calls += 1
            optimizer.zero_grad()
            loss = loss_of(model)
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
            used.append(model.weight.grad.clone())

    assert calls == 3
    for step, gradient in enumerate(used):
        values = recorded.values["train", step]["gradient/weight"]
        assert values.tobytes() == gradient.numpy().tobytes()


def test_a_line_search_is_one_step_with_its_initial_loss() -> None:
    first_losses = []
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.LBFGS, lr=0.5, max_iter=4)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = loss_of(model)
            loss.backward()
            losses.append(loss.item())
            return loss

        for _ in range(3):
            losses: list[float] = []
            optimizer.step(closure)
            first_losses.append(losses[0])

    assert list(recorded.scalars("loss").values()) == first_losses
    assert recorded.session.steps.counts["train"] == 3


def test_a_loss_divided_by_the_loop_is_recorded_undivided() -> None:
    true_losses = []
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for _ in range(2):
            losses = []
            for _ in range(4):
                loss = loss_of(model)
                losses.append(loss.item())
                (loss / 4).backward()
            optimizer.step()
            optimizer.zero_grad()
            true_losses.append(sum(losses) / 4)

    assert recorded.scalars("loss") == pytest.approx(dict(enumerate(true_losses)))
    assert recorded.scalars("loss/factor") == {0: 4.0, 1: 4.0}


def test_steps_are_counted_after_an_optimizer_raises() -> None:
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)

        def closure() -> Any:
            raise ValueError("the batch cannot be read")

        with pytest.raises(ValueError, match="cannot be read"):
            optimizer.step(closure)
        for _ in range(3):
            loss_of(model).backward()
            optimizer.step()

    assert len(recorded.scalars("loss")) == 3


@pytest.mark.parametrize("closely", [True, False])
def test_a_backward_pass_that_raises_is_not_counted(closely: bool) -> None:
    def refuse(_gradient: torch.Tensor) -> None:
        raise ValueError("refused")

    losses = []
    with watched(closely=closely) as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for step in range(30):
            if step % 10 == 5:
                handle = model.weight.register_hook(refuse)
                with pytest.raises(ValueError, match="refused"):
                    (10 * loss_of(model)).backward()
                handle.remove()
            loss = loss_of(model)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    assert list(recorded.scalars("loss").values()) == losses


def test_the_recorded_gradient_norm_equals_the_true_norm() -> None:
    norms = []
    with watched(statistics=("gradients",), overhead_percent=100.0) as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            loss_of(model).backward()
            gradients = [
                parameter.grad for parameter in model.parameters() if parameter.grad is not None
            ]
            norms.append(
                float(torch.cat([parameter.reshape(-1) for parameter in gradients]).norm())
            )
            optimizer.step()

    values = recorded.scalars("gradient_norm")
    assert [values[step] for step in values] == pytest.approx([norms[step] for step in values])
    assert 0 in values


def test_the_norm_before_clipping_and_the_factor_are_recorded() -> None:
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        loss_of(model).backward()
        norm = float(nn.utils.clip_grad_norm_(model.parameters(), 0.01))
        optimizer.step()

    assert recorded.scalars("gradient_norm") == {0: pytest.approx(norm)}
    assert recorded.scalars("clip_factor") == {0: pytest.approx(0.01 / (norm + 1e-6))}


def test_learning_rates_are_recorded_per_step() -> None:
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.8)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        for _ in range(3):
            loss_of(model).backward()
            optimizer.step()
            schedule.step()

    assert recorded.scalars("learning_rate/0") == {0: 0.8, 1: 0.4, 2: 0.2}


def test_detaching_removes_everything() -> None:
    names = [
        (torch.autograd, "backward"),
        (torch.autograd, "grad"),
        (torch, "save"),
        (torch, "load"),
        (nn.Module, "__init__"),
        (torch.optim.Optimizer, "__init__"),
        (nn.utils, "clip_grad_norm_"),
        (nn.functional, "cross_entropy"),
    ]
    before = [getattr(owner, name) for owner, name in names]
    with watched():
        assert all(
            getattr(owner, name) is not original
            for (owner, name), original in zip(names, before, strict=True)
        )

    assert [getattr(owner, name) for owner, name in names] == before


def test_a_parameter_replaced_in_its_optimizer_is_recorded_with_new_values() -> None:
    with watched("weights:every=1,values") as recorded:
        model: Any = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 2), nn.Linear(2, 2))
        optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            if step == 2:
                model[1] = nn.Linear(2, 2)
                optimizer.param_groups[0]["params"][2:4] = list(model[1].parameters())
                replaced = model[1].weight.detach().clone()
            loss_of(model).backward()
            optimizer.step()

    values = recorded.values["train", 2]["1.weight"]
    assert values.tobytes() == replaced.numpy().tobytes()


def test_values_saved_outside_steps_are_written_before_memory_fills_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(values, "_MAX_HELD_BYTES", 1000)
    with watched() as recorded:
        tensors = recorded.session.frameworks.tensors
        assert tensors is not None
        recorded.session.activate()
        for number in range(20):
            request = TensorRequest(values=True)
            saved_tensor = SavedTensor(f"saved_{number}", (), ("train", 0), request)
            tensors.save(saved_tensor, torch.ones(100))
        saved = tensors._records._values._held  # type: ignore[attr-defined]
        assert sum(len(value) for value in saved.values()) <= 2

    assert len(recorded.values["train", 0]) == 20


def test_the_loss_scale_is_that_of_its_step() -> None:
    scales = []
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        scaler: Any = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
        for step in range(6):
            loss = loss_of(model) * (float("inf") if step == 3 else 1.0)
            scaler.scale(loss).backward()
            scales.append(scaler.get_scale())
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()

    assert recorded.scalars("loss_scale") == dict(enumerate(scales))


def test_a_process_that_only_serves_data_records_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.hook.frameworks.torch.get_worker_info", object)
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        loss_of(model).backward()
        optimizer.step()

    assert recorded.rows["events"] == []


@pytest.mark.parametrize("statistics", [(), ("gradients",)])
def test_kernels_are_built_only_if_statistics_are_requested(
    monkeypatch: pytest.MonkeyPatch, statistics: tuple[str, ...]
) -> None:
    builds = []

    def are_ready_for(_kernels: Kernels, tensor: torch.Tensor) -> bool:
        builds.append(tensor)
        return True

    monkeypatch.setattr(Kernels, "are_ready_for", are_ready_for)
    with watched(statistics=statistics):
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        loss_of(model).backward()
        optimizer.step()

    assert bool(builds) == bool(statistics)
