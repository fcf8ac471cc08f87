"""The slot for state checks: one file adds a check, which gets only the calls it overrides."""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from sonde.hook.torch import checks
from sonde.hook.torch.checks import StateCheck, check_classes
from sonde.records.observation import ObservationKind
from tests.fakes.session import watched

LARGEST_BIAS = '''
"""The largest bias before each update."""

from dataclasses import dataclass

from torch.optim import Optimizer

from sonde.hook.steps import FinishedStep
from sonde.hook.torch.checks import StateCheck
from sonde.records.observation import ObservationType
from sonde.records.observations import ObservationRecord

LARGEST_BIAS = ObservationType("largest-bias", "the largest bias of a model. Value: the bias")


@dataclass(frozen=True)
class BiasLocation(ObservationRecord):
    """Where the largest bias is."""

    unit: int = 0


class LargestBias(StateCheck):
    """Record the largest bias before each update, and each finished step."""

    name = "largest bias"
    observes = (LARGEST_BIAS,)

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        bias = optimizer.param_groups[0]["params"][1].detach()
        location = BiasLocation(unit=int(bias.argmax()))
        self._observe(LARGEST_BIAS, str(number), float(bias.max()), location)

    def after_step(self, step: FinishedStep) -> None:
        self._observe(LARGEST_BIAS, "step", float(step.number), at=(step.mode, step.number))
'''
FAILING = LARGEST_BIAS.replace("bias = ", 'raise ValueError("no bias")\n        bias = ')


@pytest.fixture
def check_folder(tmp_path: Path) -> Iterator[Path]:
    """A second folder whose files are state checks until the test ends."""
    folders: list[str] = checks.__path__
    folders.append(str(tmp_path))
    yield tmp_path
    folders.remove(str(tmp_path))
    sys.modules.pop(f"{checks.__name__}.largest_bias", None)


def train() -> list[float]:
    """Train for three steps and return the weights."""
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.randn(4, 3)).sum().backward()
        optimizer.step()
    return [*model.weight.detach().flatten().tolist(), *model.bias.detach().tolist()]


def test_a_new_file_in_the_folder_is_a_new_state_check(check_folder: Path) -> None:
    plain = train()
    (check_folder / "largest_bias.py").write_text(LARGEST_BIAS)

    with watched() as recorded:
        weights = train()

    rows = recorded.observations("largest-bias")
    assert weights == plain
    assert [row["step"] for row in rows if row["subject"] == "0"] == [0, 1, 2]
    assert [row["value"] for row in rows if row["subject"] == "step"] == [0, 1, 2]
    biases = [row["value"] for row in rows if row["subject"] == "0"]
    details = {row["detail"] for row in rows if row["subject"] == "0"}
    assert details <= {'{"unit":0}', '{"unit":1}'}
    assert biases == sorted(biases, reverse=True)  # the loss is the sum of the outputs
    assert len(set(biases)) == 3


def test_only_the_state_check_that_raises_is_disabled(check_folder: Path) -> None:
    (check_folder / "largest_bias.py").write_text(FAILING)

    with watched(needed=("kept-gradients",)) as recorded:
        train()
        assert list(recorded.session.guard.failed) == ["largest bias"]
        recorded.session.guard.failed.clear()

    assert len(recorded.observations("kept-gradients")) == 3


def test_methods_that_a_check_does_not_override_are_never_called(
    check_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (check_folder / "largest_bias.py").write_text(LARGEST_BIAS)

    def fail(*_arguments: object) -> None:
        raise AssertionError("this method is not overridden")

    names = ["begin", "forward_begins", "forward_ends", "loss_called", "deferred_loss_called"]
    names += ["backward_begins", "backward_ends", "before_update", "after_step", "flush", "end"]
    for name in names:
        monkeypatch.setattr(StateCheck, name, fail)

    with watched() as recorded:
        train()

    assert len(recorded.observations("largest-bias")) == 6


@pytest.mark.parametrize("check", check_classes(), ids=lambda check: check.__name__)
def test_every_state_check_declares_what_it_records(check: type[StateCheck]) -> None:
    module = inspect.getmodule(check)
    assert module is not None
    used = set(re.findall(r"ObservationKind\.([A-Z_]+)", inspect.getsource(module)))
    declared = {kind.name for kind in check.observes if isinstance(kind, ObservationKind)}

    assert used == declared
    assert all(kind.meaning for kind in check.observes)


def test_state_checks_have_unique_names() -> None:
    names = [check.name for check in check_classes()]
    assert len(set(names)) == len(names)
