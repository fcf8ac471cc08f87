"""Memory profiles by step and by module, and statistics of the device allocator."""

import pickle
from typing import Any

import pytest
import torch
from torch import nn

from sonde.errors import UsageError
from sonde.hook.torch.profiler import allocator
from sonde.read.workers import WorkerReader, read_lives
from sonde.records.profile import ProfileKind, Window
from sonde.results.memory import ModuleMemory, StepMemory, memory_of
from sonde.store.backends import open_backend
from tests.fakes.session import Recorded, watched
from tests.hook.profilers.test_operators import Script

WINDOW = Window(ProfileKind.MEMORY, start_step=2, num_steps=2)
FLOAT_BYTES = 4


def readers_of(recorded: Recorded) -> tuple[WorkerReader, ...]:
    assert recorded.session.store.worker.job_uri is not None
    backend = open_backend(recorded.session.store.worker.job_uri)
    return (WorkerReader(backend, 0, read_lives(backend, ["0"])),)


def modules_of(recorded: Recorded) -> dict[str, ModuleMemory]:
    return {record.module: record for record in memory_of(readers_of(recorded), "module").records}


class Leaking(nn.Module):
    """Keeps a new tensor in every pass, and frees a temporary one."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[torch.Tensor] = []
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        self.kept.append(torch.zeros(1000))
        torch.zeros(5000)
        return features * self.weight


def with_leak(model: Any) -> Any:
    model.rest.append(nn.Sequential())
    model.first = nn.Sequential(Leaking(), model.first)
    return model


def test_held_and_temporary_memory_of_a_module_are_separate() -> None:
    with watched(profile=(WINDOW,)) as recorded:
        Script(with_leak).run()

    module = modules_of(recorded)["first.0"]
    assert (module.worker, module.device, module.calls) == (0, "cpu", 2)
    product = 5 * 4 * FLOAT_BYTES
    assert module.kept_bytes == 2 * (1000 * FLOAT_BYTES + product)
    assert module.held_bytes == 2 * 1000 * FLOAT_BYTES
    assert module.freed_bytes == 2 * 5000 * FLOAT_BYTES
    # slightly lower, because other modules free memory meanwhile
    assert module.peak_bytes == pytest.approx((2 * 1000 + 5000) * FLOAT_BYTES, rel=0.05)


def test_memory_of_an_inner_module_is_not_counted_for_the_outer_one() -> None:
    with watched(profile=(WINDOW,)) as recorded:
        Script(with_leak).run()

    modules = modules_of(recorded)
    assert modules["first"].allocated_bytes == 0
    assert modules["first"].peak_bytes >= modules["first.0"].peak_bytes
    assert [name for name, module in modules.items() if module.held_bytes] == ["first.0"]
    assert next(iter(modules)) == "first.0"


def test_a_leak_grows_from_step_to_step() -> None:
    with watched(profile=(WINDOW,)) as recorded:
        Script(with_leak).run()

    rows = memory_of(readers_of(recorded), "step")
    first, second = rows.records
    assert [first.step, second.step] == [2, 3]
    assert second.live_bytes - first.live_bytes >= 1000 * FLOAT_BYTES
    assert first.peak_bytes > 5000 * FLOAT_BYTES
    assert first.before_bytes != first.before_bytes  # NaN: unknown on the CPU
    assert rows.to_arrow().num_rows == 2
    assert isinstance(first, StepMemory)


def test_memory_after_each_step_of_a_healthy_loop_is_constant() -> None:
    with watched(profile=(WINDOW,)) as recorded:
        Script().run()

    first, second = memory_of(readers_of(recorded), "step").records
    assert abs(second.live_bytes - first.live_bytes) < 1000
    assert first.allocated_bytes > 0


def test_modules_can_be_turned_off() -> None:
    plain = Window(ProfileKind.MEMORY, start_step=2, options={"modules": "false"})
    with watched(profile=(plain,)) as recorded:
        Script().run()

    assert modules_of(recorded) == {}
    assert len(memory_of(readers_of(recorded), "step")) == 1


def test_missing_memory_profile_error_explains_how_to_get_one() -> None:
    with watched() as recorded:
        Script().run()

    rows = memory_of(readers_of(recorded), "step")
    assert "sonde profile" in repr(rows)
    with pytest.raises(UsageError, match="Available: step, module"):
        memory_of(readers_of(recorded), "layer")


def test_allocator_snapshot_requires_a_device() -> None:
    window = Window(ProfileKind.MEMORY, start_step=2, options={"snapshot": "true"})
    with watched(profile=(window,)) as recorded:
        Script().run()

    assert "none is in use" in recorded.notices()["allocator snapshot"]
    assert len(memory_of(readers_of(recorded), "step")) == 1


class FakeAllocator:
    """A device whose allocated memory grows with every step."""

    def __init__(self, patch: pytest.MonkeyPatch, *, is_recorded: bool = False) -> None:
        self.samples = 0
        self.calls: list[Any] = []
        patch.setattr(allocator, "_is_in_use", lambda: True)
        patch.setattr(allocator, "device_in_use", lambda: "cuda:0")
        patch.setattr(allocator, "_memory_statistics", self.sample)
        patch.setattr(allocator, "_is_recorded", lambda: is_recorded)
        patch.setattr(allocator, "_record", lambda **options: self.calls.append(options))
        patch.setattr(allocator, "_snapshot", lambda: {"segments": [1, 2]})

    def sample(self) -> dict[str, Any]:
        self.samples += 1
        return {
            "allocated_bytes": {"all": {"current": 100 * self.samples, "peak": 5000}},
            "reserved_bytes": {"all": {"current": 8000, "peak": 8000}},
            "num_alloc_retries": self.samples // 3,
        }


def test_live_and_peak_device_memory_are_recorded_at_every_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    FakeAllocator(monkeypatch)
    monkeypatch.setattr(allocator, "_INTERVAL_NS", 0)
    with watched() as recorded:
        Script().run(steps=3)

    assert recorded.scalars("memory/live_bytes") == {0: 100.0, 1: 200.0, 2: 300.0}
    assert recorded.scalars("memory/peak_bytes") == dict.fromkeys(range(3), 5000.0)
    assert recorded.scalars("memory/reserved_bytes") == {0: 8000.0}  # when it changes
    assert recorded.scalars("memory/allocation_retries") == {0: 0.0, 2: 1.0}


def test_quick_steps_share_one_memory_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = FakeAllocator(monkeypatch)
    monkeypatch.setattr(allocator, "_INTERVAL_NS", 10**15)
    with watched():
        Script().run(steps=5)

    assert device.samples == 1


def snapshot_of(recorded: Recorded) -> Any:
    [reader] = readers_of(recorded)
    [key] = [
        entry.key
        for entry in reader.backend.entries("workers/0/profiles")
        if entry.key.endswith(".snapshot.pickle")
    ]
    return pickle.loads(reader.backend.read(key))


@pytest.mark.parametrize("is_recorded", [False, True])
def test_snapshot_does_not_disturb_the_scripts_own_memory_history(
    monkeypatch: pytest.MonkeyPatch, is_recorded: bool
) -> None:
    device = FakeAllocator(monkeypatch, is_recorded=is_recorded)
    window = Window(ProfileKind.MEMORY, start_step=2, options={"snapshot": "true"})
    with watched(profile=(window,)) as recorded:
        Script().run()

    assert snapshot_of(recorded) == {"segments": [1, 2]}
    is_on = [options.get("enabled", "all") is not None for options in device.calls]
    assert is_on == ([] if is_recorded else [True, False])
