"""Modes of the script do not see Sonde's tensor operations."""

from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from sonde.hook.torch.patching.hidden_operations import hidden_from_modes
from tests.fakes.session import watched

Mode: Any = TorchDispatchMode


class Counter(Mode):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations.append(str(func))
        return func(*args, **(kwargs or {}))


def train(steps: int) -> None:
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(3, 4)).sum().backward()
        optimizer.step()


def test_an_operation_counter_sees_only_operations_of_the_script() -> None:
    with Counter() as plain:
        train(3)
    with watched("all:every=1,values,histogram"), Counter() as recorded:
        train(3)

    assert recorded.operations == plain.operations


def test_a_default_device_does_not_affect_sonde() -> None:
    with torch.device("meta"):
        tensor = hidden_from_modes(lambda: torch.empty(1))()

    assert tensor.device.type == "cpu"


def test_training_with_fake_tensors_is_not_recorded() -> None:
    with watched() as recorded:
        with FakeTensorMode():
            train(2)
        train(3)

    assert sorted(recorded.scalars("loss")) == [0, 1, 2]


@pytest.mark.parametrize("device", ["meta"])
def test_a_meta_tensor_loss_is_not_recorded(device: str) -> None:
    with watched() as recorded:
        model = nn.Linear(4, 2, device=device)
        model(torch.ones(3, 4, device=device)).sum().backward()
        train(1)

    assert sorted(recorded.scalars("loss")) == [0]
