"""Jobs with a profiled step: a recording of an H200, or operations made up by a test."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.store.format import OPERATIONS
from sonde.traces.operations import decode_trace
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

H200_STEP = Path(__file__).parent.parent / "golden" / "kineto_h200_one_step.json.gz"
PROFILED_STEP = 5
GPU = "cuda:0"


def h200_step_job(step_seconds: float, steps: int = 60) -> FakeJob:
    """A job with the recorded step of an H200; all other steps take `step_seconds`."""
    job = FakeJob()
    worker = job.worker(device=GPU)
    for step in range(steps):
        if step != PROFILED_STEP:
            worker.step(step, {"forward": step_seconds})
            continue
        seconds = _write_trace(worker, H200_STEP)
        _profile_step(worker, step, {"forward": seconds})
    worker.flush()
    return job.end()


@dataclass
class ProfiledStep:
    """One step of operations: the host works in order, the device in order of the launches."""

    operations: list[tuple[str, str, float, float, dict[str, Any]]] = field(default_factory=list)
    host: float = 0.0  # seconds since the start of the step
    device: float = 0.0
    launched: int = 0

    def launch(
        self, operator: str, kernel: str, host: float, seconds: float, category: str = "kernel"
    ) -> "ProfiledStep":
        """Run an operator for `host` seconds that launches a kernel of `seconds`."""
        self.launched += 1
        call = {"correlation": self.launched}
        self.add(operator, "operator", self.host, host)
        self.add("cudaLaunchKernel", "runtime", self.host + host / 4, host / 4, **call)
        self.host += host
        self.device = max(self.device, self.host)
        place = {"lane": "stream 7", "device": GPU, **call}
        self.add(kernel, category, self.device, seconds, **place)
        self.device += seconds
        return self

    def wait(self, operator: str = "aten::item", call: str = "cudaStreamSynchronize") -> None:
        """Let the host wait until the device is done."""
        seconds = max(self.device - self.host, 0.0) + 1e-5
        self.add(operator, "operator", self.host, seconds + 2e-6)
        self.add(call, "runtime", self.host + 1e-6, seconds)
        self.host += seconds + 2e-6

    def work(self, operator: str, seconds: float) -> "ProfiledStep":
        """Run an operator on the host."""
        self.add(operator, "operator", self.host, seconds)
        self.host += seconds
        return self

    def annotate(self, name: str, start: float) -> None:
        """Name the time from `start` until now."""
        self.add(name, "annotation", start, self.host - start)

    def job(
        self,
        step_seconds: float,
        steps: int = 60,
        phases: Mapping[str, float] | None = None,
        device: str = GPU,
        uri: str = "",
        device_name: str = "",
    ) -> FakeJob:
        """A job in which this step was profiled; unprofiled steps take `step_seconds`."""
        job = FakeJob(uri)
        worker = job.worker(device=device, device_name=device_name)
        for step in range(steps):
            if step != PROFILED_STEP:
                worker.step(step, phases or {"forward": step_seconds})
                continue
            for name, category, start, seconds, more in self.operations:
                worker.operation(name, category, start, seconds, **more)
            _profile_step(worker, step, {"forward": max(self.host, self.device)})
        worker.flush()
        return job.end()

    def add(self, name: str, category: str, start: float, seconds: float, **more: Any) -> None:
        """Add an operation at a time since the start of the step."""
        self.operations.append((name, category, start, seconds, more))


def launches(
    kernels: Iterable[str], host: float, seconds: float, operator: str = "aten::add"
) -> ProfiledStep:
    """A step that launches these kernels one by one."""
    step = ProfiledStep()
    for kernel in kernels:
        step.launch(operator, kernel, host, seconds)
    return step


def _profile_step(worker: FakeWorker, step: int, phases: Mapping[str, float]) -> None:
    detail = f'{{"steps":[{step},{step}],"by":"plan"}}'
    worker.span("operators", 0.0, sum(phases.values()), step, "window", detail=detail)
    worker.step(step, phases, profiled="operators")


def _write_trace(worker: FakeWorker, path: Path) -> float:
    """Write the operations of a trace, from now on; return their duration in seconds."""
    batches = list(decode_trace(path).batches())
    first_ns = min(batch.first_ns for batch in batches)
    shift_ns = worker.clock.now_ns() - first_ns
    start = [name for name, _ in OPERATIONS.columns].index("start_ns")
    for batch in batches:
        columns: list[Any] = list(batch.columns)
        columns[start] = np.asarray(columns[start]) + shift_ns
        first, last = batch.first_ns + shift_ns, batch.last_ns + shift_ns
        worker.writer.add_columns(OPERATIONS, columns, first, last)
    return (max(batch.last_ns for batch in batches) - first_ns) / NANOSECONDS
