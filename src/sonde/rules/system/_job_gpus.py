"""Which GPUs a job uses: a machine may have others, and other people's work on them."""

from sonde.read.window import Samples, Window
from sonde.rules._rule import State

_JOB_MEMORY = "gpu.job_memory_bytes"
_LEAST_BYTES = 64 << 20  # less is a process that only asked what GPUs there are


def note_memory(window: Window, state: State) -> None:
    """Keeps on which GPUs processes of the job hold memory, where the driver tells."""
    for samples in window.system(_JOB_MEMORY):
        known = state.of("job_memory", samples.node)
        if not known.get(samples.device):
            known[samples.device] = bool((samples.values >= _LEAST_BYTES).any())


def holds_memory(samples: Samples, state: State) -> bool | None:
    """Whether the job has held memory on a GPU so far; None where nobody knows."""
    known = state.of("job_memory", samples.node)
    return bool(known.get(samples.device)) if known else None
