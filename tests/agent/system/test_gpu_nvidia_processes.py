import math
import sys
from pathlib import Path

import pytest

from sonde.agent.system.gpu_nvidia_processes import GpuNvidiaProcesses
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine, named
from tests.fakes.nvml import FakeGpu, FakeNvml, gpu_process


@pytest.fixture
def fake(tmp_path: Path) -> FakeMachine:
    fake = FakeMachine(tmp_path)
    fake.write("proc/driver/nvidia/version", "NVRM version: 570\n")
    fake.process(10)
    fake.process(11, parent=10)
    fake.process(99)
    return fake


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    nvml = FakeNvml(FakeGpu(), FakeGpu())
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    return nvml


@pytest.fixture
def processes(fake: FakeMachine, nvml: FakeNvml) -> GpuNvidiaProcesses:
    collector = GpuNvidiaProcesses(fake.machine(job_pid=10))
    collector.open()
    return collector


def test_only_processes_of_the_job_count(processes: GpuNvidiaProcesses, nvml: FakeNvml) -> None:
    nvml.gpus[0].processes = [gpu_process(10, 100), gpu_process(11, 20), gpu_process(99, 3)]
    values = named(processes, processes.read(0.0))
    assert values["gpu.job_memory_bytes/gpu0"] == 120
    assert values["gpu.job_memory_bytes/gpu1"] == 0
    process_values = {key: value for key, value in values.items() if "process_memory" in key}
    assert sorted(process_values.values()) == [20, 100]
    assert all(key.startswith("gpu.process_memory_bytes/gpu0 1") for key in process_values)
    processes.close()
    assert nvml.opened == 0


def test_other_processes_are_counted_apart(processes: GpuNvidiaProcesses, nvml: FakeNvml) -> None:
    nvml.gpus[0].processes = [gpu_process(10, 100), gpu_process(99, 3)]
    nvml.gpus[0].process_utilization = {10: 60, 99: 25}
    values = named(processes, processes.read(0.0))
    assert values["gpu.others_memory_bytes/gpu0"] == 3
    assert values["gpu.others_utilization_percent/gpu0"] == 25
    assert values["gpu.others_utilization_percent/gpu1"] == 0


def test_a_process_that_released_the_gpu_is_unknown_and_keeps_its_series(
    processes: GpuNvidiaProcesses, nvml: FakeNvml
) -> None:
    nvml.gpus[1].processes = [gpu_process(11, 7)]
    processes.read(0.0)
    before = processes.series
    nvml.gpus[1].processes = [gpu_process(99, 3)]
    values = named(processes, processes.read(5.0))
    assert processes.series is before
    assert values["gpu.job_memory_bytes/gpu1"] == 0
    assert [math.isnan(value) for key, value in values.items() if "process" in key] == [True]


def test_pids_of_another_namespace_and_hidden_sizes_are_unknown(
    processes: GpuNvidiaProcesses, nvml: FakeNvml
) -> None:
    for listed in ([gpu_process(555_555, 100)], [gpu_process(10, None)]):
        nvml.gpus[0].processes = listed
        values = named(processes, processes.read(0.0))
        assert math.isnan(values["gpu.job_memory_bytes/gpu0"])


def test_collector_is_not_available_without_a_job(fake: FakeMachine, nvml: FakeNvml) -> None:
    with pytest.raises(NothingToCollectError, match="no job"):
        GpuNvidiaProcesses(fake.machine()).open()
    with pytest.raises(NothingToCollectError, match="no process"):
        GpuNvidiaProcesses(fake.machine(job_pid=4711)).open()
    assert nvml.opened == 0
