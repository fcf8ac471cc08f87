"""Models that are not in the mode of the step that uses them are recorded, once per change."""

import json
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from sonde.hook.torch.loop import deferral_policy, deferred_hooks
from tests.fakes.session import Recorded, watched


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))


def train(network: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 3) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        network(torch.randn(4, 3)).sum().backward()
        optimizer.step()


def evaluate(network: nn.Module, passes: int = 3, *, gradients: bool = False) -> None:
    with torch.set_grad_enabled(gradients):
        for _ in range(passes):
            network(torch.randn(4, 3))


def evaluate_loaded(network: nn.Module) -> None:
    for (batch,) in DataLoader(TensorDataset(torch.randn(12, 3)), batch_size=4):
        network(batch)


@pytest.fixture(params=["inspected", "deferred"])
def is_close(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether every step is inspected, which does not change the observations."""
    monkeypatch.setattr(deferred_hooks, "_MAX_DELAY_NS", 10**15)
    monkeypatch.setattr(deferral_policy, "_INSPECTION_INTERVAL_SECONDS", 1000.0)
    return bool(request.param == "inspected")


def mode_changes(recorded: Recorded) -> list[tuple[str, int, float, dict[str, Any]]]:
    rows = recorded.observations("module-mode")
    assert {row["subject"] for row in rows} <= {"Sequential"}
    return [
        (row["mode"], row["step"], row["value"], json.loads(row["detail"] or "{}")) for row in rows
    ]


def test_a_loop_that_switches_modes_correctly_records_nothing() -> None:
    with watched() as recorded:
        network = model()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(3):
            network.train()
            train(network, optimizer)
            network.eval()
            evaluate(network)
    assert mode_changes(recorded) == []


def test_training_in_eval_mode_is_recorded_when_it_begins_and_ends(is_close: bool) -> None:
    with watched(closely=is_close) as recorded:
        network = model()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        train(network, optimizer, 40)
        network.eval()
        train(network, optimizer)
        network.train()
        train(network, optimizer)
    wrong = {"is": "eval", "modules": ["1", "2"]}
    assert mode_changes(recorded) == [("train", 40, 2.0, wrong), ("train", 43, 0.0, {})]


def fine_tuned(*, is_frozen: bool) -> Recorded:
    """Train a model, then switch it to eval mode and fine-tune it with a new optimizer."""
    with watched() as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        train(network, torch.optim.SGD(network.parameters(), lr=0.1))
        network.eval()
        network[:2].requires_grad_(not is_frozen)
        trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
        train(network, torch.optim.SGD(trained, lr=0.1))
    return recorded


def test_frozen_batch_normalization_in_eval_mode_is_not_counted() -> None:
    assert mode_changes(fine_tuned(is_frozen=True)) == [
        ("train", 3, 0.0, {"is": "eval", "modules": []})
    ]


def test_batch_normalization_that_learns_in_eval_mode_is_counted() -> None:
    wrong = {"is": "eval", "modules": ["1"]}
    assert mode_changes(fine_tuned(is_frozen=False)) == [("train", 3, 1.0, wrong)]


def test_an_evaluation_with_gradients_is_not_training(is_close: bool) -> None:
    with watched(closely=is_close) as recorded:
        network = model()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(3):
            network.train()
            train(network, optimizer, 30)
            network.eval()
            evaluate(network, gradients=True)
    assert mode_changes(recorded) == []


def test_an_evaluation_with_gradients_over_a_loader_is_not_training() -> None:
    with watched() as recorded:
        network = model()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(3):
            network.train()
            train(network, optimizer)
            network.eval()
            evaluate_loaded(network)
    assert mode_changes(recorded) == []


@pytest.mark.parametrize("has_loader", [False, True])
def test_a_model_left_in_eval_mode_after_an_evaluation_is_recorded_at_once(
    is_close: bool, has_loader: bool
) -> None:
    with watched(closely=is_close) as recorded:
        network = model()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        train(network, optimizer, 30)
        network.eval()
        if has_loader:
            evaluate_loaded(network)
        else:
            evaluate(network, gradients=True)
        train(network, optimizer)
    assert mode_changes(recorded) == [("train", 30, 2.0, {"is": "eval", "modules": ["1", "2"]})]


def test_searching_adversarial_inputs_in_eval_mode_is_not_training() -> None:
    with watched() as recorded:
        network = model()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(3):
            batch = torch.randn(4, 3, requires_grad=True)
            network.eval()
            network(batch).sum().backward()
            network.train()
            optimizer.zero_grad()
            assert batch.grad is not None
            network((batch + batch.grad).detach()).sum().backward()
            optimizer.step()
    assert mode_changes(recorded) == []


def test_computing_gradients_after_training_is_not_training() -> None:
    with watched() as recorded:
        network = model()
        train(network, torch.optim.SGD(network.parameters(), lr=0.1))
        network.eval()
        network(torch.randn(4, 3)).sum().backward()
    assert mode_changes(recorded) == []


def test_a_trained_model_that_becomes_a_teacher_records_nothing() -> None:
    with watched() as recorded:
        teacher, network = model(), nn.Linear(3, 1)
        before = torch.optim.SGD(teacher.parameters(), lr=0.1)
        train(teacher, before)
        teacher.eval()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(3):
            batch = torch.randn(4, 3)
            (network(batch) - teacher(batch).detach()).square().sum().backward()
            optimizer.step()
    assert recorded.observations("module-mode") == []


def test_a_wrapper_and_its_inner_model_count_as_one_model() -> None:
    with watched() as recorded:
        network = model()
        wrapper = nn.DataParallel(network)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(3):
            wrapper.train()
            train(wrapper, optimizer)
            wrapper.eval()
            evaluate(network, gradients=True)
    assert recorded.observations("module-mode") == []


def test_a_single_module_in_eval_mode_is_named() -> None:
    with watched() as recorded:
        network = model()
        network[1].eval()
        train(network, torch.optim.SGD(network.parameters(), lr=0.1))
    assert mode_changes(recorded) == [("train", 0, 1.0, {"is": "train", "modules": ["1"]})]


def test_an_evaluation_in_training_mode_is_recorded() -> None:
    with watched() as recorded:
        network = model()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        train(network, optimizer)
        evaluate(network)
    assert mode_changes(recorded) == [("eval", 0, 2.0, {"is": "train", "modules": ["1", "2"]})]


def test_modules_that_are_the_same_in_both_modes_do_not_count() -> None:
    with watched() as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.0), nn.LSTM(4, 4))
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(2):
            network(torch.randn(4, 3))[0].sum().backward()
            optimizer.step()
        evaluate(network)
    assert mode_changes(recorded) == [("eval", 0, 0.0, {"is": "train", "modules": []})]


def test_a_teacher_in_a_training_step_records_nothing() -> None:
    with watched() as recorded:
        network, teacher = model(), model().eval()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(3):
            batch = torch.randn(4, 3)
            with torch.no_grad():
                target = teacher(batch)
            (network(batch) - target).square().sum().backward()
            optimizer.step()
    assert recorded.observations("module-mode") == []


def test_a_model_that_runs_in_training_but_is_not_trained_records_nothing() -> None:
    with watched() as recorded:
        backbone, head = model().eval(), nn.Linear(1, 1)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
        for _ in range(3):
            head(backbone(torch.randn(4, 3))).sum().backward()
            optimizer.step()
    assert recorded.observations("module-mode") == []


def test_a_trained_model_that_is_frozen_later_records_nothing() -> None:
    with watched() as recorded:
        network = model()
        before = torch.optim.SGD(network.parameters(), lr=0.1)
        network(torch.randn(4, 3)).sum().backward()
        before.step()
        network.eval().requires_grad_(False)
        prompt = nn.Parameter(torch.zeros(4, 3))
        optimizer = torch.optim.SGD([prompt], lr=0.1)
        for _ in range(3):
            network(torch.randn(4, 3) + prompt).sum().backward()
            optimizer.step()
    assert recorded.observations("module-mode") == []
