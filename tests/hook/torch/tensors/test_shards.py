"""The part of a tensor that a process can read without other workers."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import distributed, nn
from torch._C import DisableTorchFunctionSubclass
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

from sonde.hook.torch.tensors.finiteness import bad_value
from sonde.hook.torch.tensors.optimizer_memory import OptimizerMemory
from sonde.hook.torch.tensors.shards import full_tensor, is_distributed, local
from sonde.hook.torch.tensors.statistics import measure


@pytest.fixture
def mesh() -> Iterator[DeviceMesh]:
    """A mesh of two workers, of which only this one runs."""
    distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    yield init_device_mesh("cpu", (2,))
    distributed.destroy_process_group()


def distributed_tensor(mesh: DeviceMesh, placement: Placement, *values: float) -> DTensor:
    return DTensor.from_local(torch.tensor(values), mesh, [placement])


def test_a_plain_tensor_is_its_own_local_tensor() -> None:
    for tensor in (torch.ones(2), nn.Parameter(torch.ones(2))):
        assert local(tensor) is tensor
        assert full_tensor(tensor) is tensor
        assert not is_distributed(tensor)


def test_the_local_tensor_of_a_distributed_one_is_the_shard_itself(mesh: DeviceMesh) -> None:
    tensor = distributed_tensor(mesh, Shard(0), 1.0, 2.0)
    assert is_distributed(tensor)
    assert tensor.shape == (4,)
    assert local(tensor) is tensor._local_tensor
    assert local(nn.Parameter(tensor)).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("placement", "is_whole"), [(Shard(0), False), (Partial(), False), (Replicate(), True)]
)
def test_only_replicated_tensors_have_all_values(
    placement: Placement, is_whole: bool, mesh: DeviceMesh
) -> None:
    result = full_tensor(distributed_tensor(mesh, placement, 3.0))
    assert (result is not None) == is_whole


def test_a_tensor_that_a_collective_still_writes_to_is_empty() -> None:
    pending = AsyncCollectiveTensor(torch.ones(3))
    assert local(pending).numel() == 0
    assert full_tensor(pending) is None
    pending.completed = True
    assert local(pending).tolist() == [1.0, 1.0, 1.0]


def test_statistics_and_checks_of_a_shard_need_no_other_worker(
    mesh: DeviceMesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_collectives(monkeypatch)
    tensor = distributed_tensor(mesh, Shard(0), 1.0, torch.inf)
    measured = measure({"weight": tensor}, with_histogram=True)
    assert (measured.names, measured.left_out) == (["weight"], {})
    assert bad_value(tensor) == "inf"
    assert bad_value(distributed_tensor(mesh, Shard(0), 1.0, 2.0)) is None


def test_the_norm_derived_from_adam_is_that_of_the_shard(
    mesh: DeviceMesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    weight = nn.Parameter(distributed_tensor(mesh, Shard(0), 1.0, 2.0))
    optimizer = torch.optim.Adam([weight], lr=0.0, foreach=False)
    memory = OptimizerMemory()
    for step in range(12):
        weight.grad = distributed_tensor(mesh, Shard(0), 3.0, 4.0)
        if step:
            with monkeypatch.context() as patched:
                forbid_collectives(patched)
                result = memory.norm_since(optimizer)
                if result is not None:
                    assert result == pytest.approx(5.0, rel=1e-5)
                    return
        optimizer.step()
    pytest.fail("no norm was derived")


_METADATA = ("__get__", "dim", "is_complex", "is_floating_point", "numel", "size")


def forbid_collectives(patched: pytest.MonkeyPatch) -> None:
    """Make all operations on distributed tensors fail, since any of them may start a collective."""

    def refuse(_class: type, function: Callable[..., Any], *rest: Any) -> Any:
        _types, args, kwargs = (*rest, {})[:3]
        if function.__name__ not in _METADATA:
            pytest.fail(f"{function.__name__} of a distributed tensor")
        with DisableTorchFunctionSubclass():
            return function(*args, **kwargs)

    patched.setattr(DTensor, "__torch_function__", classmethod(refuse))


def test_operations_on_distributed_tensors_would_be_detected(
    mesh: DeviceMesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensor = distributed_tensor(mesh, Shard(0), 1.0, 2.0)
    forbid_collectives(monkeypatch)
    with pytest.raises(pytest.fail.Exception):
        tensor.detach()
