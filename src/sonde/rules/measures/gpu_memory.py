"""GPU memory of training: what tensors use, what PyTorch reserves, and room for larger batches."""

from dataclasses import dataclass

from sonde.read.window import Window
from sonde.rules._rule import State

SCALARS = "memory/*"
TOTAL = "gpu.memory_total_bytes"

_LIVE, _PEAK = "memory/live_bytes", "memory/peak_bytes"
_RESERVED, _RETRIES = "memory/reserved_bytes", "memory/allocation_retries"


@dataclass(frozen=True, slots=True)
class Calibration:
    """How much memory a larger batch may use."""

    usable_share: float = 0.9  # of the GPU: the driver and fragments need the rest


LIMITS = Calibration()


@dataclass(frozen=True, slots=True)
class GPUMemory:
    """Bytes on a GPU so far, averaged over workers."""

    total: float
    live: float  # after a step: weights, gradients, states of the optimizer
    peak: float  # in a step: also activations
    reserved: float
    retries: int  # how often PyTorch emptied its cache to allocate memory

    @classmethod
    def update(cls, window: Window, state: State) -> "GPUMemory | None":
        """Add the values of a window; None until all are known."""
        memory = state.of("gpu_memory")
        for samples in window.system(TOTAL):
            memory[TOTAL] = max(memory.get(TOTAL, 0.0), float(samples.values.max()))
        for name in (_PEAK, _RESERVED, _RETRIES):
            for curve in window.scalars(name):
                memory[name] = max(memory.get(name, 0.0), float(curve.values.max()))
        for curve in window.scalars(_LIVE):
            memory[_LIVE] = float(curve.values[-1])
        if not memory.get(TOTAL) or _PEAK not in memory or _LIVE not in memory:
            return None
        peak = memory[_PEAK]
        reserved, retries = memory.get(_RESERVED, peak), int(memory.get(_RETRIES, 0))
        return cls(memory[TOTAL], memory[_LIVE], peak, reserved, retries)

    def percent(self, count: float) -> float:
        """A number of bytes as a share of the GPU's memory."""
        return 100 * count / self.total

    @property
    def largest_batch_factor(self) -> float:
        """By how much a batch can grow: activations grow with it, weights do not."""
        activations = max(self.peak - self.live, 1.0)
        return max(1.0, (LIMITS.usable_share * self.total - self.live) / activations)
