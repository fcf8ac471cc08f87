"""The step count continues from a checkpoint."""

from pathlib import Path

import pytest
import torch
from torch import nn

from sonde.hook.frameworks.torch import PyTorch
from sonde.hook.session import Session
from tests.fakes.session import watched


def train(optimizer: torch.optim.Optimizer, model: nn.Module, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(3, 4)).sum().backward()
        optimizer.step()


def test_a_restored_optimizer_continues_the_step_count() -> None:
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    train(optimizer, model, 5)
    with watched() as recorded:
        resumed = torch.optim.Adam(model.parameters())
        resumed.load_state_dict(optimizer.state_dict())
        train(resumed, model, 2)

    assert sorted(recorded.scalars("loss")) == [5, 6]


@pytest.mark.parametrize("as_file", [False, True])
def test_a_checkpoint_file_continues_the_step_count(tmp_path: Path, as_file: bool) -> None:
    path = tmp_path / "checkpoint.pt"
    with watched() as recorded:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        train(optimizer, model, 7)
        if as_file:
            with path.open("wb") as file:
                torch.save(model.state_dict(), file)
        else:
            torch.save(model.state_dict(), path)
        train(optimizer, model, 2)

    before = recorded.session
    resumed = Session(before.store.worker, before.settings, before.clock)
    adapter = PyTorch()
    adapter.attach(resumed)
    model = nn.Linear(4, 2)
    model.load_state_dict(torch.load(path))
    train(torch.optim.SGD(model.parameters(), lr=0.1), model, 2)
    resumed.close()
    adapter.detach()

    assert resumed.steps.counts["train"] == 9


def test_a_checkpoint_loaded_during_training_does_not_change_step_numbers(
    tmp_path: Path,
) -> None:
    with watched() as recorded:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        train(optimizer, model, 3)
        torch.save(model.state_dict(), tmp_path / "best.pt")
        train(optimizer, model, 3)
        model.load_state_dict(torch.load(tmp_path / "best.pt"))
        train(optimizer, model, 3)

    assert sorted(recorded.scalars("loss")) == list(range(9))
