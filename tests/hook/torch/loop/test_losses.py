"""The original loss is recorded, even if a loop or framework divides or scales it."""

from pathlib import Path

import pytest
import torch

from sonde.clock import SystemClock
from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep
from sonde.hook.torch.loop.losses import Losses
from sonde.hook.torch.tensors.device_scalars import DeviceScalars
from sonde.settings import HookSettings, WorkerPlacement
from sonde.store.format import SCALARS


class Bench:
    """Losses, and the numbers recorded for one step."""

    def __init__(self, folder: Path) -> None:
        self.session = Session(WorkerPlacement("node", str(folder)), HookSettings(), SystemClock())
        self.losses = Losses(self.session, DeviceScalars(self.session))

    def recorded(self) -> dict[str, float]:
        self.losses.optimizer_stepped(0)
        for listener in self.session.listeners.steps:
            listener(FinishedStep("train", 0, 0, 1))
        rows = self.session.recorder.rows.of(SCALARS)
        return {str(row[0]): float(row[4]) for row in rows}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def loss_of(value: float) -> torch.Tensor:
    return torch.tensor(value, requires_grad=True) * torch.ones(1).squeeze()


def test_an_unscaled_loss_is_recorded_as_is(bench: Bench) -> None:
    bench.losses.root(loss_of(0.7))
    assert bench.recorded() == {"loss": pytest.approx(0.7)}


def test_a_loss_divided_by_a_framework_is_recorded_before_the_division(bench: Bench) -> None:
    true = loss_of(0.1)
    assert bench.losses.announce_division(3, "a loop", true)
    bench.losses.root(true / 3)
    bench.losses.end_division()
    expected = {"loss": true.item(), "loss/root": (true / 3).item(), "loss/factor": 3}
    assert bench.recorded() == expected


def test_a_loss_with_only_a_known_divisor_is_multiplied_back(bench: Bench) -> None:
    for value in (1.0, 3.0):
        bench.losses.announce_division(2, "a loop")
        bench.losses.root(loss_of(value) / 2)
        bench.losses.end_division()
    assert bench.recorded() == {"loss": 2.0, "loss/root": 1.0, "loss/factor": 2}


def test_the_outermost_framework_wins(bench: Bench) -> None:
    assert bench.losses.announce_division(4, "a loop")
    assert not bench.losses.announce_division(2, "a loop inside it", loss_of(9.0))
    bench.losses.root(loss_of(0.5))
    assert bench.recorded()["loss"] == 2.0


def test_end_division_ends_an_announced_division(bench: Bench) -> None:
    bench.losses.announce_division(4, "a loop")
    bench.losses.end_division()
    bench.losses.root(loss_of(0.5))
    assert bench.recorded() == {"loss": 0.5}


def test_a_divided_loss_is_recognized_after_scaling(bench: Bench) -> None:
    true = loss_of(0.1)
    divided = true / 3
    scaled = divided * 1024
    bench.losses.note_division(true, divided, 3, "a loop")
    bench.losses.note_scaling(divided, scaled)
    bench.losses.root(scaled)
    assert bench.recorded()["loss"] == true.item()


def test_another_loss_is_not_mistaken_for_the_divided_one(bench: Bench) -> None:
    true = loss_of(0.1)
    bench.losses.note_division(true, true / 3, 3, "a loop")
    second = loss_of(0.5)
    bench.losses.root(second)
    assert bench.recorded() == {"loss": 0.5}


def test_tensors_offloaded_by_unpack_hooks_are_not_requested(bench: Bench) -> None:
    stored: list[torch.Tensor] = []
    fetched: list[int] = []

    def store(tensor: torch.Tensor) -> int:
        stored.append(tensor)
        return len(stored) - 1

    def fetch(index: int) -> torch.Tensor:
        fetched.append(index)
        return stored[index]

    with torch.autograd.graph.saved_tensors_hooks(store, fetch):
        loss = loss_of(0.7) / torch.tensor(2.0)
    bench.losses.root(loss)

    assert stored
    assert fetched == []


def test_losses_of_undetected_steps_do_not_accumulate(bench: Bench) -> None:
    for value in range(5000):
        bench.losses.deferred_root(float(value), 1.0, ())

    assert len(bench.losses._roots) < 5000
    assert bench.recorded()["loss"] > 2500


def test_a_loss_far_out_of_range_is_reported_before_its_backward_pass(bench: Bench) -> None:
    jumps: list[bool] = []
    bench.losses.on_jump.append(lambda: jumps.append(True))
    bench.losses.root(loss_of(1e9))  # the expected range is not known yet
    for _ in range(64):
        bench.losses.root(loss_of(0.7))
    bench.losses.root(loss_of(15.0))  # a hard batch
    assert jumps == []
    bench.losses.root(loss_of(1e9))
    bench.losses.root(loss_of(float("inf")))
    assert len(jumps) == 2
