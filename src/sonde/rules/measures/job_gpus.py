"""Which GPUs a job uses: the machine may have others, which other jobs use."""

from dataclasses import dataclass

from sonde.read.window import Samples, Window
from sonde.rules._rule import State

_JOB_MEMORY = "gpu.job_memory_bytes"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Threshold for a GPU to belong to a job.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_bytes: int = 64 << 20  # a process that only lists the GPUs holds less


LIMITS = Calibration()


def record_job_memory(window: Window, state: State) -> None:
    """Store on which GPUs the job holds memory, if the driver reports it."""
    for samples in window.system(_JOB_MEMORY):
        job_memory_state = state.of("job_memory", samples.node)
        if not job_memory_state.get(samples.device):
            job_memory_state[samples.device] = bool((samples.values >= LIMITS.min_bytes).any())


def holds_memory(samples: Samples, state: State) -> bool | None:
    """Whether the job has held memory on a GPU so far; None if unknown."""
    job_memory_state = state.of("job_memory", samples.node)
    return bool(job_memory_state.get(samples.device)) if job_memory_state else None
