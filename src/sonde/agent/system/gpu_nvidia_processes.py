"""NVIDIA GPUs: memory of the job's processes, and what other processes use."""

from collections.abc import Sequence
from typing import Any

from sonde.agent.process_tree import ProcessTree
from sonde.agent.system import _gpus as gpus
from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.agent.system._nvml import Nvml
from sonde.errors import NothingToCollectError
from sonde.records.metric import Series


class GpuNvidiaProcesses(Collector):
    """NVIDIA GPUs: memory used by the job, in total and per process, and use by other processes.

    Requires an NVIDIA driver and, in a container, access to the host's PIDs.
    """

    metrics = (
        *(gpus.JOB_MEMORY, gpus.PROCESS_MEMORY),
        *(gpus.OTHERS_MEMORY, gpus.OTHERS_UTILIZATION),
    )

    interval_seconds = 5.0
    is_slow = True  # listing the processes of a GPU takes up to 5 ms

    def open(self) -> None:
        if self.machine.job_pid is None:
            raise NothingToCollectError("no job process")
        self._nvml = Nvml(self.machine)
        try:
            self._tree = ProcessTree(self.machine.proc, self.machine.job_pid, self.machine.job_mark)
        except ProcessLookupError as error:
            self._nvml.close()
            raise NothingToCollectError(str(error)) from error
        self._devices: tuple[str, ...] = ()
        self._until: dict[int, int] = {}  # time of the last utilization read, by GPU
        self._rename(())

    def read(self, seconds: float) -> Sequence[float]:
        self._tree.update(seconds)
        totals: list[float] = []
        sizes: dict[str, float] = {}
        for index, gpu in enumerate(self._nvml.gpus):
            total, others, by_process = self._memory(gpu)
            totals += [total, others, self._others_utilization(index, gpu)]
            sizes |= {f"gpu{index} {process}": size for process, size in by_process.items()}
        if not sizes.keys() <= set(self._devices):
            self._rename((*self._devices, *(new for new in sizes if new not in self._devices)))
        return [*totals, *(sizes.get(device, UNKNOWN) for device in self._devices)]

    def close(self) -> None:
        self._nvml.close()
        self._tree.close()

    def _rename(self, devices: tuple[str, ...]) -> None:
        self._devices = devices
        self.series = (
            *(
                Series(metric, f"gpu{index}")
                for index in range(len(self._nvml.gpus))
                for metric in (gpus.JOB_MEMORY, gpus.OTHERS_MEMORY, gpus.OTHERS_UTILIZATION)
            ),
            *(Series(gpus.PROCESS_MEMORY, device) for device in devices),
        )

    def _memory(self, gpu: Any) -> tuple[float, float, dict[str, float]]:
        """Return the memory of the job and of others on a GPU, and of each process of the job."""
        try:
            processes = self._nvml.library.nvmlDeviceGetComputeRunningProcesses(gpu)
        except self._nvml.error:
            return UNKNOWN, UNKNOWN, {}
        job_processes = [process for process in processes if process.pid in self._tree.members]
        if any(process.usedGpuMemory is None for process in job_processes):
            return UNKNOWN, UNKNOWN, {}
        # in a container, the driver may report PIDs of the host
        is_pid_namespace_shared = bool(job_processes) or any(
            (self.machine.proc / str(process.pid)).exists() for process in processes
        )
        if processes and not is_pid_namespace_shared:
            return UNKNOWN, UNKNOWN, {}
        members = self._tree.members
        by_process = {
            f"{process.pid} {members[process.pid].name}": float(process.usedGpuMemory)
            for process in job_processes
        }
        total = sum(by_process.values())
        others = sum(float(process.usedGpuMemory or 0) for process in processes) - total
        return total, others, by_process

    def _others_utilization(self, index: int, gpu: Any) -> float:
        """Return the mean utilization by other processes since the last read."""
        nvml = self._nvml.library
        try:
            samples = nvml.nvmlDeviceGetProcessUtilization(gpu, self._until.get(index, 0))
        except self._nvml.error as error:
            # without work on the GPU there are no samples
            return 0.0 if vars(error).get("value") == nvml.NVML_ERROR_NOT_FOUND else UNKNOWN
        self._until[index] = max((each.timeStamp for each in samples), default=0)
        by_process: dict[int, list[int]] = {}
        for sample in samples:
            by_process.setdefault(sample.pid, []).append(sample.smUtil)
        members = self._tree.members
        if not any(pid in members or (self.machine.proc / str(pid)).exists() for pid in by_process):
            return UNKNOWN if by_process else 0.0
        return sum(
            sum(shares) / len(shares) for pid, shares in by_process.items() if pid not in members
        )
