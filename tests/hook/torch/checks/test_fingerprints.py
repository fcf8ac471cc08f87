"""With several workers, every step has a fingerprint of the model, deferred or not."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.algorithms.join import _JoinConfig
from torch.nn.parallel import DistributedDataParallel as Wrapper

from sonde.hook.torch.checks import checksums
from sonde.hook.torch.checks import fingerprints as fingerprints_of
from sonde.hook.torch.checks.measures import replicas
from sonde.hook.torch.loop import deferral_policy, deferred_hooks
from sonde.records.observations.replicas import ReplicaFingerprint
from tests.fakes.session import Recorded, watched

STEPS = 60


@pytest.fixture(autouse=True)
def without_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Defer as many steps as possible, even on a slow machine."""
    monkeypatch.setattr(deferred_hooks, "_MAX_DELAY_NS", 10**15)
    monkeypatch.setattr(deferral_policy, "_INSPECTION_INTERVAL_SECONDS", 1000.0)


class DistributedDataParallel(nn.Module):
    """A module with the name of PyTorch's wrapper."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any) -> Any:
        return self.module(*args)


class PostLocalSGDState:
    """A class with the name of PyTorch's communication hook state."""


def network() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 8), nn.Tanh(), nn.Linear(8, 1))


def train(
    between: Callable[[Any, int], None] = lambda _model, _step: None,
    *,
    model: Any = None,
    workers: int = 2,
    closely: bool = False,
    **settings: int,
) -> Recorded:
    """Train as one of several workers; `between` may change the model before each step."""
    with watched(closely=closely, **settings) as recorded:
        recorded.session.store.assign(replace(recorded.session.store.worker, world_size=workers))
        trained = model() if model else network()
        parameters = [parameter for parameter in trained.parameters() if parameter.requires_grad]
        optimizer = torch.optim.SGD(parameters, lr=0.01)
        for step in range(STEPS):
            between(trained, step)
            optimizer.zero_grad()
            trained(torch.ones(2, 3)).sum().backward()
            optimizer.step()
    return recorded


def rows_of(recorded: Recorded) -> list[dict[str, Any]]:
    return recorded.observations("replica-fingerprint")


def fingerprints(recorded: Recorded) -> dict[int, float]:
    rows = rows_of(recorded)
    assert {row["subject"] for row in rows} <= {"Sequential"}
    assert len({row["step"] for row in rows}) == len(rows)
    return {row["step"]: row["value"] for row in rows}


def test_every_step_has_a_fingerprint_even_if_hooks_are_deferred() -> None:
    deferred, inspected = train(), train(closely=True)
    inspected_steps = {row["step"] for row in deferred.observations("batch-hash")}
    assert len(inspected_steps) < STEPS / 2
    deferred_fingerprints = fingerprints(deferred)
    assert list(deferred_fingerprints) == list(range(STEPS))
    assert len(set(deferred_fingerprints.values())) == STEPS
    assert deferred_fingerprints == fingerprints(inspected)


def test_each_fingerprint_is_recorded_within_its_step() -> None:
    recorded = train()
    ends = {
        row["step"]: row["start_ns"] + row["duration_ns"]
        for row in recorded.rows["events"]
        if row["category"] == "step"
    }
    for row in rows_of(recorded):
        assert ends.get(row["step"] - 1, 0) <= row["time_ns"] < ends[row["step"]]


def test_changed_weights_change_all_later_fingerprints() -> None:
    def load(model: Any, step: int) -> None:
        if step == 40:
            model.load_state_dict(
                {name: weight * 1.001 for name, weight in model.state_dict().items()}
            )

    first, second = fingerprints(train()), fingerprints(train(load))
    assert [step for step in range(STEPS) if first[step] != second[step]] == list(range(40, STEPS))


def test_a_change_of_a_few_units_of_a_small_layer_is_detected() -> None:
    def restart(model: Any, step: int) -> None:
        if step == 40:
            with torch.no_grad():
                model[0].weight[[3, 11]] = 0.5
                model[2].weight[:, [3, 11]] = 0

    first, second = fingerprints(train()), fingerprints(train(restart))
    assert [step for step in range(STEPS) if first[step] != second[step]] == list(range(40, STEPS))


def test_parameters_that_move_in_memory_are_still_read() -> None:
    def move(model: Any, step: int) -> None:
        if step == 40:
            for parameter in model.parameters():
                parameter.data = parameter.data.clone()

    assert fingerprints(train()) == fingerprints(train(move))


def sources(recorded: Recorded) -> set[ReplicaFingerprint]:
    return {ReplicaFingerprint.decode(row["detail"]) for row in rows_of(recorded)}


def test_parameters_outside_contiguous_host_memory_are_skipped() -> None:
    def turn(model: Any, step: int) -> None:
        if step == 40:
            weight = model[0].weight
            weight.data = weight.data.t().contiguous().t()

    by_step = {
        row["step"]: ReplicaFingerprint.decode(row["detail"])
        for row in rows_of(train(turn, closely=True))
    }
    assert set(range(STEPS)) - by_step.keys() == {40}
    assert (by_step[39].parameters, by_step[41].parameters) == ((0, 1, 3, 5), (1, 2, 3, 5))


def test_freed_memory_is_not_read() -> None:
    weight = torch.ones(4, 4)
    assert fingerprints_of._is_readable(weight)
    weight.untyped_storage().resize_(0)
    assert not fingerprints_of._is_readable(weight)
    assert checksums._checksum([weight]) == 0


def test_a_single_worker_records_no_fingerprints() -> None:
    recorded = train(workers=1)
    assert rows_of(recorded) == []
    adapter: Any = recorded.session.frameworks.adapters["torch"]
    assert adapter.modules.deferred.update.fingerprints is None


def test_disabled_replica_checks_record_no_fingerprints() -> None:
    assert rows_of(train(replica_check_every=0)) == []


def test_fingerprints_do_not_change_the_weights() -> None:
    sums: list[list[float]] = []

    def note(model: Any, step: int) -> None:
        if step == STEPS - 1:
            sums.append([parameter.detach().sum().item() for parameter in model.parameters()])

    train(note)
    train(note, workers=1)
    assert sums[0] == sums[1]


def test_fingerprints_read_four_parameters_including_the_first_and_last() -> None:
    def deep() -> nn.Module:
        return nn.Sequential(nn.Linear(3, 4), *(nn.Linear(4, 4) for _ in range(20)))

    assert sources(train(model=deep)) == {ReplicaFingerprint((0, 13, 27, 41))}


def test_wrapped_models_are_marked_as_wrapped() -> None:
    recorded = train(model=lambda: DistributedDataParallel(network()))
    assert sources(recorded) == {ReplicaFingerprint((0, 1, 3, 5), is_wrapped=True)}


def test_frozen_parameters_are_not_fingerprinted() -> None:
    def frozen() -> Any:
        model = network()
        model[0].requires_grad_(requires_grad=False)
        return model

    assert sources(train(model=frozen)) == {ReplicaFingerprint((2, 3, 4, 5))}


def test_fingerprints_keep_no_model_alive() -> None:
    with watched(closely=False) as recorded:
        recorded.session.store.assign(replace(recorded.session.store.worker, world_size=2))
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(20):
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
        weight = weakref.ref(model[0].weight)
        del model, optimizer
        gc.collect()
        assert weight() is None


def test_workers_with_uneven_data_are_not_compared() -> None:
    joined: Any = Wrapper.__new__(Wrapper)
    nn.Module.__init__(joined)
    for is_enabled in (True, False):
        joined._join_config = _JoinConfig(is_enabled, False, True)
        assert replicas._is_replicated(joined) is not is_enabled


def test_sharded_models_and_delayed_averaging_are_not_compared() -> None:
    class FullyShardedDataParallel(DistributedDataParallel):
        pass

    averaged: Any = Wrapper.__new__(Wrapper)
    nn.Module.__init__(averaged)
    averaged._comm_hooks = [(print, None)]
    assert replicas._is_replicated(nn.Linear(2, 1))
    assert replicas._is_replicated(averaged)
    averaged._comm_hooks = [(print, PostLocalSGDState())]
    assert not replicas._is_replicated(averaged)
    assert not replicas._is_replicated(nn.Sequential(FullyShardedDataParallel(nn.Linear(2, 1))))
