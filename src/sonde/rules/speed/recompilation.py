"""Recompilation: `torch.compile` compiles functions again during training."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.analyze.speedups import gain_from
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent, pluralize
from sonde.read.window import Window
from sonde.records.advice import PREDICTS, Basis, Bottleneck, Improvement, Remedy
from sonde.records.finding import Evidence, Finding, Severity
from sonde.records.need import Observations, Steps
from sonde.records.observations.training import RecompiledFunction
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt

_KIND = "recompilation"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of Recompilation.

    Chosen by hand unless a comment says otherwise.
    """

    settling_steps: int = 10  # the first steps compile everything, often twice: for other shapes
    min_steps: int = 20
    min_compilations: int = 3
    warning_percent: float = 20.0
    max_functions: int = 5
    repeated_share: float = 0.5  # of compilations that padding to a few lengths saves, at least


LIMITS = Calibration()

_DYNAMIC = "torch._dynamo.mark_dynamic(batch, 1)  # or torch.compile(model, dynamic=True)"
_PADDING = "length = 64 * math.ceil(length / 64)  # pad to a few lengths; drop_last=True"


class Recompilation(Rule):
    """`torch.compile` compiles functions again and again during training.

    Why it matters: Training waits while a function is compiled, which takes seconds. After 8
    versions of a function, PyTorch gives up and runs it without compilation.
    How it decides:
    - After the first 10 steps, functions were compiled 3 times or more because a guard failed.
    - These compilations take more than `threshold` percent of the time since then.
    - Needs 20 training steps after the first 10.
    What to do: The evidence names the guard. For a size that changes, mark it as dynamic
    (`torch._dynamo.mark_dynamic`, `torch.compile(…, dynamic=True)`), pad batches to a few
    lengths, or drop the last incomplete batch. For a Python value that changes, such as a step
    number, pass it as a tensor.
    """

    threshold: Percent = 3.0

    section = Section.SPEED
    calibration = LIMITS
    needs = (Steps(), Observations(_KIND))
    window_steps: ClassVar[int | None] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Add up the time of compilations and steps by worker."""
        begin_attempt(window, state)
        for observation in window.observations(_KIND):
            if observation.step >= LIMITS.settling_steps:
                worker_state = state.of("workers", observation.worker)
                worker_state["seconds"] = worker_state.get("seconds", 0.0) + observation.value
                function = RecompiledFunction.of(observation)
                text = f"{observation.subject} ({function.line}): {function.reason}"
                counts = worker_state.of("functions")
                counts[text] = counts.get(text, 0) + 1
        for table in window.steps():
            worker_state = state.of("workers", table.worker)
            is_settled = table.steps >= LIMITS.settling_steps
            worker_state["steps"] = worker_state.get("steps", 0) + int(is_settled.sum())
            total = float(table.durations_ns[is_settled].sum()) / NANOSECONDS
            worker_state["total"] = worker_state.get("total", 0.0) + total
            if len(table.steps):
                yield from self._judge(table.worker, int(table.steps[-1]), worker_state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        steps = max((each.get("steps", 0) for each in state.of("workers").values()), default=0)
        if steps >= LIMITS.min_steps:
            return ""
        return Shortfall(steps, LIMITS.min_steps, DataUnit.SETTLED_STEPS)

    def summary(self, state: State) -> Evidence:
        """That the rule predicts gains."""
        del state
        return {PREDICTS: True}

    def _judge(self, worker: int, step: int, state: State) -> Iterator[Finding]:
        counts: dict[str, int] = dict(state.of("functions"))
        total, spent = float(state["total"]), float(state.get("seconds", 0.0))
        percent = 100 * spent / total if total else 0.0
        is_storm = sum(counts.values()) >= LIMITS.min_compilations and percent > self.threshold
        if state["steps"] < LIMITS.min_steps or not is_storm:
            return
        places = sorted(counts, key=lambda text: -counts[text])[: LIMITS.max_functions]
        count = pluralize(sum(counts.values()), "recompilation")
        is_large = percent > LIMITS.warning_percent
        yield self.finding(
            f"{count} of worker {worker} took {format_duration(spent)}, "
            f"{format_percent(percent)} of the training time since step {LIMITS.settling_steps}.",
            step=(LIMITS.settling_steps, step),
            worker=worker,
            subject=f"worker {worker}",
            severity=Severity.WARNING if is_large else Severity.INFO,
            improvement=Improvement(
                Bottleneck.COMPILATION, tuple(_remedies(total, spent)), tuple(places)
            ),
            evidence={
                "recompilations": sum(counts.values()),
                "lost_seconds": spent,
                "lost_percent": percent,
                "guards": places,
            },
        )


def _remedies(total: float, spent: float) -> Iterator[Remedy]:
    reason = f"compilations took {format_duration(spent)} of {format_duration(total)}."
    saved = (LIMITS.repeated_share * spent, spent, spent)
    yield Remedy("dynamic shapes", _DYNAMIC, gain_from(total, saved, Basis.MEASURED, reason))
    yield Remedy("batches of a few fixed shapes", _PADDING)
