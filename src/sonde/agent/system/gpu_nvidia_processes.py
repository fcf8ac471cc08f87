"""NVIDIA GPUs: memory of the job's processes."""

from collections.abc import Sequence
from typing import Any

from sonde.agent.process_tree import ProcessTree
from sonde.agent.system import _gpus as gpus
from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.agent.system._nvml import Nvml
from sonde.errors import NothingToCollectError
from sonde.records.metric import Series


class GpuNvidiaProcesses(Collector):
    """NVIDIA GPUs: memory used by the job on each GPU, in total and per process.

    Requires an NVIDIA driver and, in a container, access to the host's PIDs.
    """

    metrics = (gpus.JOB_MEMORY, gpus.PROCESS_MEMORY)

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
        self._rename(())

    def read(self, seconds: float) -> Sequence[float]:
        self._tree.update(seconds)
        totals: list[float] = []
        sizes: dict[str, float] = {}
        for index, gpu in enumerate(self._nvml.gpus):
            total, by_process = self._job_memory(gpu)
            totals.append(total)
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
            *(Series(gpus.JOB_MEMORY, f"gpu{index}") for index in range(len(self._nvml.gpus))),
            *(Series(gpus.PROCESS_MEMORY, device) for device in devices),
        )

    def _job_memory(self, gpu: Any) -> tuple[float, dict[str, float]]:
        """Return the memory of the job on a GPU, in total and per process."""
        try:
            processes = self._nvml.library.nvmlDeviceGetComputeRunningProcesses(gpu)
        except self._nvml.error:
            return UNKNOWN, {}
        job_processes = [process for process in processes if process.pid in self._tree.members]
        if any(process.usedGpuMemory is None for process in job_processes):
            return UNKNOWN, {}
        # in a container, the driver may report PIDs of the host
        is_pid_namespace_shared = bool(job_processes) or any(
            (self.machine.proc / str(process.pid)).exists() for process in processes
        )
        if processes and not is_pid_namespace_shared:
            return UNKNOWN, {}
        members = self._tree.members
        by_process = {
            f"{process.pid} {members[process.pid].name}": float(process.usedGpuMemory)
            for process in job_processes
        }
        return sum(by_process.values()), by_process
