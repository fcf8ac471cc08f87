"""Collectives of torch.distributed in a group of one worker."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore

from sonde.hook.profilers.distributed import Distributed
from sonde.records.profile import ProfileKind, Window
from tests.fakes.session import Recorded, watched

WINDOW = Window(ProfileKind.DISTRIBUTED)


@pytest.fixture
def group() -> Iterator[str]:
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    assert dist.group.WORLD is not None
    yield dist.group.WORLD.group_name
    dist.destroy_process_group()


@contextmanager
def profiled() -> Iterator[Recorded]:
    with watched() as recorded:
        recorded.session.activate()
        profiler = Distributed(recorded.session)
        assert profiler.begin(WINDOW) is None
        yield recorded
        profiler.end(WINDOW)


def calls(recorded: Recorded) -> list[dict[str, Any]]:
    rows = recorded.rows["operations"]
    return [{**row, "detail": json.loads(row["detail"])} for row in rows]


def test_collective_is_recorded_with_bytes_and_process_group(group: str) -> None:
    with profiled() as recorded:
        dist.all_reduce(torch.ones(1000))
    [call] = calls(recorded)
    location = (call["name"], call["category"], call["lane"])
    assert location == ("all_reduce", "collective", "collectives")
    detail = call["detail"]
    assert (detail["bytes"], detail["dtype"], detail["async"]) == (4000, "float32", False)
    assert (detail["group"], detail["size"], detail["backend"]) == (group, 1, "gloo")
    assert 0 < detail["wait_ns"] <= call["duration_ns"] == call["self_ns"]


def test_bytes_of_a_collective_are_those_that_a_worker_sends(group: str) -> None:
    tensor = torch.ones(10, dtype=torch.float64)
    with profiled() as recorded:
        dist.all_gather([torch.empty_like(tensor)], tensor)
        dist.broadcast(tensor=tensor, src=0)
        dist.reduce_scatter(torch.empty_like(tensor), [tensor])
        dist.barrier()
    sizes = [(call["name"], call["detail"].get("bytes")) for call in calls(recorded)]
    assert sizes == [
        ("all_gather", 80),
        ("broadcast", 80),
        ("reduce_scatter", 80),
        ("barrier", None),
    ]


def test_collective_built_on_others_is_one_call(group: str) -> None:
    with profiled() as recorded:
        dist.all_gather_object([None], {"a": 1})
    assert [call["name"] for call in calls(recorded)] == ["all_gather_object"]


def test_asynchronous_collective_returns_its_handle_and_its_wait_is_timed(group: str) -> None:
    recorded_tensor, plain_tensor = torch.ones(1000), torch.ones(1000)
    plain_work = dist.all_reduce(plain_tensor, async_op=True)
    with profiled() as recorded:
        work = dist.all_reduce(recorded_tensor, async_op=True)
        assert type(work) is type(plain_work)
        unawaited = dist.all_reduce(torch.ones(2), async_op=True)
        assert work.wait() is plain_work.wait() is True
        assert unawaited.wait() is True
    assert torch.equal(recorded_tensor, plain_tensor)
    first, second = calls(recorded)
    assert first["detail"]["async"] is second["detail"]["async"] is True
    assert (first["lane"], second["lane"]) == ("collectives 2", "collectives 3")
    assert first["detail"]["wait_ns"] > 0
    assert "unfinished" not in first["detail"]


def test_collective_without_wait_is_recorded_at_the_end_of_the_window(group: str) -> None:
    with profiled() as recorded:
        work = dist.all_reduce(torch.ones(10), async_op=True)
    work.wait()
    [call] = calls(recorded)
    assert (call["name"], call["detail"]["wait_ns"]) == ("all_reduce", 0)


def test_collectives_without_wait_do_not_accumulate(group: str) -> None:
    with profiled() as recorded:
        for _ in range(300):
            dist.all_reduce(torch.ones(1), async_op=True)
    recorded_calls = calls(recorded)
    assert len(recorded_calls) == 300
    assert len({call["lane"] for call in recorded_calls}) == 257


def test_after_the_window_nothing_is_recorded_and_all_patches_are_removed(group: str) -> None:
    wait = dist.Work.wait
    with watched() as recorded:
        recorded.session.activate()
        profiler, function = Distributed(recorded.session), dist.all_reduce
        profiler.begin(WINDOW)
        assert dist.all_reduce is function  # so compiled callers stay valid
        profiler.end(WINDOW)
        dist.all_reduce(torch.ones(1))
    assert recorded.rows["operations"] == []
    assert dist.Work.wait is wait


def test_failing_collective_raises_its_original_exception(group: str) -> None:
    with profiled() as recorded:
        with pytest.raises(RuntimeError, match="invalid root rank"):
            dist.broadcast(torch.ones(1), src=7)
        dist.barrier()
    assert [call["name"] for call in calls(recorded)] == ["barrier"]


def test_window_is_refused_without_a_process_group() -> None:
    with watched() as recorded:
        assert Distributed(recorded.session).begin(WINDOW) == "no process group is initialized"


def test_compiled_function_is_not_recompiled_and_not_recorded(group: str) -> None:
    compiled = []

    def backend(graph: torch.fx.GraphModule, _inputs: list[torch.Tensor]) -> Any:
        compiled.append(graph)
        return graph.forward

    with watched() as recorded:
        recorded.session.activate()
        profiler = Distributed(recorded.session)

        @torch.compile(backend=backend)
        def summed(values: torch.Tensor) -> torch.Tensor:
            doubled = values * 2
            dist.all_reduce(doubled)
            return doubled + 1

        before = summed(torch.ones(3))
        assert len(compiled) == 1, "one graph that includes the collective"
        profiler.begin(WINDOW)
        assert torch.equal(summed(torch.ones(3)), before)
        profiler.end(WINDOW)
        assert torch.equal(summed(torch.ones(3)), before)
    assert len(compiled) == 1
