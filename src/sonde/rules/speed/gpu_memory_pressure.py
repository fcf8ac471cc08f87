"""GPUMemoryPressure: a job nearly runs out of GPU memory, or its memory is fragmented."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.formats import format_bytes, format_percent, pluralize
from sonde.read.window import Window
from sonde.records.advice import Bottleneck, Improvement, Remedy
from sonde.records.finding import Finding, Severity
from sonde.records.need import Metric, Scalars
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.gpu_memory import SCALARS, TOTAL, GPUMemory
from sonde.rules.measures.training_kind import begin_attempt


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of GPUMemoryPressure.

    Chosen by hand unless a comment says otherwise.
    """

    min_steps: int = 20
    fragmented_percent: float = 20.0  # of the GPU's memory: reserved and never used by tensors
    min_retries: int = 2  # each frees all cached memory and waits for the GPU


LIMITS = Calibration()

_SEGMENTS = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py"
_CHECKPOINTING = """x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
# for the layers that `sonde profile JOB --kinds memory` lists first"""


class GPUMemoryPressure(Rule):
    """Training nearly runs out of GPU memory, or much of its memory is fragmented.

    Why it matters: A slightly longer batch ends the job. Before that, PyTorch frees its cached
    memory again and again, which makes the GPU wait.
    How it decides:
    - Tensors have used more than `threshold` percent of the GPU's memory, the driver's part not
      included.
    - Or PyTorch had to empty its cache 2 times or more to allocate memory.
    - Or more than 20% of the GPU's memory is reserved by PyTorch but was never used by tensors at
      the same time (fragmentation), while more than `threshold` percent is reserved.
    - Needs 20 training steps.
    What to do: Fragmentation: set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`. Otherwise,
    checkpoint activations of the largest layers, train in bfloat16, or accumulate gradients over
    smaller batches.
    """

    threshold: Percent = 92.0

    section = Section.SPEED
    calibration = LIMITS
    needs = (Scalars(SCALARS), Metric(TOTAL))
    window_steps: ClassVar[int | None] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the allocator's numbers with the memory of a GPU."""
        begin_attempt(window, state)
        tables = window.steps()
        memory = GPUMemory.update(window, state)
        state["steps"] = state.get("steps", 0) + max(
            (len(each.steps) for each in tables), default=0
        )
        if memory is not None and tables and state["steps"] >= LIMITS.min_steps:
            yield from self._judge(int(tables[0].steps[-1]), memory)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        steps = int(state.get("steps", 0))
        return (
            "" if steps >= LIMITS.min_steps else Shortfall(steps, LIMITS.min_steps, DataUnit.STEPS)
        )

    def _judge(self, step: int, memory: GPUMemory) -> Iterator[Finding]:
        used, unused = memory.percent(memory.peak), memory.percent(memory.reserved - memory.peak)
        is_full = memory.percent(memory.reserved) > self.threshold
        is_fragmented = is_full and unused > LIMITS.fragmented_percent
        is_retrying = memory.retries >= LIMITS.min_retries
        if used <= self.threshold and not is_fragmented and not is_retrying:
            return
        texts = [f"tensors used up to {format_percent(used)} ({format_bytes(memory.peak)})"]
        if is_fragmented:
            texts.append(f"{format_percent(unused)} is reserved and unused")
        if is_retrying:
            texts.append(f"PyTorch emptied its cache {pluralize(memory.retries, 'time')}")
        yield self.finding(
            f"GPU memory: {', '.join(texts)}.",
            step=step,
            severity=Severity.WARNING if is_retrying else Severity.INFO,
            improvement=Improvement(
                Bottleneck.MEMORY, tuple(_remedies(is_fragmented=is_fragmented))
            ),
            evidence={
                "peak_percent": used,
                "unused_percent": unused,
                "allocation_retries": memory.retries,
            },
        )


def _remedies(*, is_fragmented: bool) -> Iterator[Remedy]:
    if is_fragmented:
        yield Remedy("expandable segments", _SEGMENTS)
    yield Remedy("activation checkpointing", _CHECKPOINTING)
    yield Remedy("smaller batches with gradient accumulation")
