"""Which GPUs a job uses: a machine may have others, and other people's work on them."""

from dataclasses import dataclass

from sonde.read.window import Samples, Window
from sonde.rules._rule import State

_JOB_MEMORY = "gpu.job_memory_bytes"


@dataclass(frozen=True, slots=True)
class Calibration:
    """When a GPU belongs to a job.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_bytes: int = 64 << 20  # less is a process that only listed the GPUs


LIMITS = Calibration()


def record_job_memory(window: Window, state: State) -> None:
    """Keeps on which GPUs processes of the job hold memory, where the driver tells."""
    for samples in window.system(_JOB_MEMORY):
        job_memory_state = state.of("job_memory", samples.node)
        if not job_memory_state.get(samples.device):
            job_memory_state[samples.device] = bool((samples.values >= LIMITS.min_bytes).any())


def holds_memory(samples: Samples, state: State) -> bool | None:
    """Whether the job has held memory on a GPU so far; None if unknown."""
    job_memory_state = state.of("job_memory", samples.node)
    return bool(job_memory_state.get(samples.device)) if job_memory_state else None
