"""Checksums of models differ if a single bit of the parameters differs."""

import re
from dataclasses import replace
from pathlib import Path

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from sonde.hook.torch.checks import checksums as module
from sonde.records.observations.replicas import ReplicaChecksum
from tests.fakes.session import Recorded, watched


def train(changed: float = 0.0, steps: int = 5, workers: int = 2, **settings: int) -> Recorded:
    """Train as one of several workers; a weight changes at step 2."""
    with watched(overhead_percent=1e6, **settings) as recorded:
        recorded.session.store.assign(replace(recorded.session.store.worker, world_size=workers))
        torch.manual_seed(1)
        first = nn.Linear(3, 4)
        network = nn.Sequential(first, nn.Linear(4, 1))
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
        for step in range(steps):
            if step == 2:
                with torch.no_grad():
                    first.weight[0, 0] += changed
            network(torch.ones(2, 3)).sum().backward()
            optimizer.step()
    return recorded


def checksums(recorded: Recorded) -> dict[int, str]:
    rows = recorded.observations("replica-checksum")
    assert {row["subject"] for row in rows} <= {"Sequential"}
    records = {row["step"]: ReplicaChecksum.decode(row["detail"]) for row in rows}
    assert all(re.fullmatch("[0-9a-f]{8}", record.checksum) for record in records.values())
    return {step: record.checksum for step, record in records.items()}


def test_equal_workers_have_equal_checksums_that_change_from_step_to_step() -> None:
    first, second = (checksums(train(replica_check_every=1)) for _ in range(2))
    assert first == second
    assert len(set(first.values())) == 5


def test_one_changed_weight_changes_all_later_checksums() -> None:
    first, second = (checksums(train(changed, replica_check_every=1)) for changed in (0.0, 1e-7))
    assert [first[step] == second[step] for step in range(5)] == [True, True, False, False, False]


def test_checksums_are_recorded_at_the_requested_interval() -> None:
    assert list(checksums(train(steps=7, replica_check_every=3))) == [0, 3, 6]
    assert checksums(train(replica_check_every=0)) == {}


def test_a_single_worker_records_no_checksums() -> None:
    assert checksums(train(workers=1, replica_check_every=1)) == {}


def test_bit_pattern_sums_cover_every_element_type() -> None:
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.complex64, torch.bool):
        values = torch.tensor([1, 0, 1]).to(dtype)
        total = module._pattern(values).sum(dtype=torch.int64)
        assert total != module._pattern(torch.zeros(3, dtype=dtype)).sum(dtype=torch.int64)
        assert total == module._pattern(values.flip(0)).sum(dtype=torch.int64)


def test_a_model_counts_as_wrapped_after_its_wrapper_is_deleted(tmp_path: Path) -> None:
    store = f"file://{tmp_path}/store"
    distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        with watched(overhead_percent=1e6, replica_check_every=1) as recorded:
            recorded.session.store.assign(replace(recorded.session.store.worker, world_size=2))
            network = DistributedDataParallel(nn.Linear(3, 1)).module
            optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
            network(torch.ones(2, 3)).sum().backward()
            optimizer.step()
    finally:
        distributed.destroy_process_group()
    assert [row["value"] for row in recorded.observations("replica-checksum")] == [1.0]
