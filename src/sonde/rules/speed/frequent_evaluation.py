"""FrequentEvaluation: evaluating takes a large part of the training time."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np

from sonde.analyze.speedups import rarer
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent, pluralize
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.advice import PREDICTS, Bottleneck, Improvement, Remedy
from sonde.records.arrays import IntArray
from sonde.records.finding import Evidence, Finding, Severity
from sonde.records.need import Steps
from sonde.records.step import Phase
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt, is_reinforcement_learning


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of FrequentEvaluation.

    Chosen by hand unless a comment says otherwise.
    """

    min_evaluations: int = 3  # one or two may be at the start and the end
    min_seconds: float = 1.0  # spent on evaluation
    recent_windows: int = 40  # of 50 steps; a script may evaluate less often later
    untimed_share: float = 0.5  # of an evaluation, by which a step that was not timed is longer
    target_percent: float = 5.0  # of the training time, with the remedy


LIMITS = Calibration()


class FrequentEvaluation(Rule):
    """Evaluation takes a large part of the training time.

    Why it matters: Training waits while the model is evaluated.
    How it decides:
    - Over the last 2,000 unprofiled training steps, 3 or more contain an evaluation.
    - Evaluation takes more than `threshold` percent of the time of all these steps, and at least 1
      second.
    - A step that was not timed counts if it is longer than others by half of an evaluation.
    - Not applied to reinforcement learning, in which agents act between training steps.
    What to do: Evaluate less often, on a fixed subset, or with larger batches under
    `torch.inference_mode()`.
    """

    threshold: Percent = 20.0

    section = Section.SPEED
    calibration = LIMITS
    needs = (Steps(),)
    window_steps: ClassVar[int | None] = 50
    recovers_after: ClassVar[int] = 8

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Add up the time of evaluations in the recent steps of each worker."""
        begin_attempt(window, state)
        state["acts"] = state.get("acts", False) or is_reinforcement_learning(window)
        for table in window.steps():
            worker_state = state.of("workers", table.worker)
            evaluated_ns, durations_ns = _evaluation_times(table)
            evaluations = np.flatnonzero(evaluated_ns)
            seconds = (float(ns.sum()) / NANOSECONDS for ns in (evaluated_ns, durations_ns))
            row = [len(durations_ns), len(evaluations), *seconds]
            worker_state["rows"] = [*worker_state.get("rows", []), row][-LIMITS.recent_windows :]
            if not len(evaluations) or state["acts"]:
                continue
            worker_state.setdefault("since", int(table.steps[0]))
            steps = (int(worker_state["since"]), int(table.steps[-1]))
            totals = np.sum(np.array(worker_state["rows"]), axis=0).tolist()
            yield from self._judge(table.worker, steps, totals)

    def summary(self, state: State) -> Evidence:
        """That the rule predicts gains."""
        del state
        return {PREDICTS: True}

    def _judge(self, worker: int, steps: tuple[int, int], totals: list[float]) -> Iterator[Finding]:
        trained, count, spent, total = totals
        percent = 100 * spent / max(total, 1e-9)
        is_significant = count >= LIMITS.min_evaluations and spent >= LIMITS.min_seconds
        if not is_significant or percent <= self.threshold:
            return
        training = total - spent
        allowed = training * LIMITS.target_percent / (100 - LIMITS.target_percent)
        factor = ceil(spent / max(allowed, 1e-9))
        every = max(1, round(trained / count))
        reason = (
            f"evaluation was timed; at 1/{factor} of the frequency, it takes "
            f"{format_percent(100 * spent / factor / (training + spent / factor))}."
        )
        gain = rarer(total, spent, factor, reason)
        remedy = Remedy(
            f"evaluating every {factor * every:,} steps instead of every {every:,}",
            f"if step % {factor * every} == 0:\n    evaluate(model)",
            gain,
        )
        yield self.finding(
            f"Evaluation takes {format_percent(percent)} of the training time of worker {worker}: "
            f"{pluralize(count, 'evaluation')}, {format_duration(spent / count)} each on average.",
            step=steps,
            severity=Severity.INFO,  # how often to evaluate is a choice
            worker=worker,
            subject=f"worker {worker}",
            improvement=Improvement(Bottleneck.EVALUATION, (remedy,)),
            evidence={
                "evaluations": count,
                "seconds_per_evaluation": spent / count,
                "lost_seconds": spent,
                "lost_percent": percent,
            },
        )


def _evaluation_times(table: StepTable) -> tuple[IntArray, IntArray]:
    """The time of evaluation in each unprofiled step, and the durations of these steps.

    Hooks often rest after an evaluation, so the next one may not be timed. Its time is the time by
    which the step is longer than steps without evaluation, up to a typical evaluation.
    """
    is_usable = table.is_representative
    durations_ns, is_timed = table.durations_ns[is_usable], table.is_timed[is_usable]
    evaluated_ns = np.where(is_timed, table.phases_ns[Phase.EVALUATION.value][is_usable], 0)
    is_plain = is_timed & (evaluated_ns == 0)
    if evaluated_ns.any() and is_plain.any():
        typical_ns = int(np.median(evaluated_ns[evaluated_ns > 0]))
        excess_ns = durations_ns - int(np.median(durations_ns[is_plain]))
        is_longer = ~is_timed & (excess_ns >= LIMITS.untimed_share * typical_ns)
        evaluated_ns[is_longer] = np.minimum(excess_ns[is_longer], typical_ns)
    return evaluated_ns, durations_ns
