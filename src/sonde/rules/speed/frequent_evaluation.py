"""FrequentEvaluation: evaluating takes a large part of the training time."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np

from sonde.analyze.speedups import rarer
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent, pluralize
from sonde.read.window import Window
from sonde.records.advice import PREDICTS, Bottleneck, Improvement, Remedy
from sonde.records.finding import Evidence, Finding
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
    target_percent: float = 5.0  # of the training time, with the remedy


LIMITS = Calibration()


class FrequentEvaluation(Rule):
    """Evaluation takes a large part of the training time.

    Why it matters: Training waits while the model is evaluated.
    How it decides:
    - Over the last 2,000 unprofiled training steps, 3 or more contain an evaluation.
    - Evaluation takes more than `threshold` percent of the time of all these steps, and at least 1
      second.
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
            # evaluations in steps that were not timed are not known
            is_usable = table.is_timed & table.is_representative
            evaluated_ns = np.where(is_usable, table.phases_ns[Phase.EVALUATION.value], 0)
            evaluations = np.flatnonzero(evaluated_ns)
            timed_ns = table.durations_ns[is_usable]
            sums_ns = (evaluated_ns.sum(), timed_ns.sum(), table.durations_ns.sum())
            seconds = (float(value) / NANOSECONDS for value in sums_ns)
            row = [len(timed_ns), len(evaluations), *seconds]
            worker_state["rows"] = [*worker_state.get("rows", []), row][-LIMITS.recent_windows :]
            if not len(evaluations) or state["acts"]:
                continue
            worker_state.setdefault("since", int(table.steps[evaluations[0]]))
            steps = (int(worker_state["since"]), int(table.steps[evaluations[-1]]))
            totals = np.sum(np.array(worker_state["rows"]), axis=0).tolist()
            yield from self._judge(table.worker, steps, totals)

    def summary(self, state: State) -> Evidence:
        """That the rule predicts gains."""
        del state
        return {PREDICTS: True}

    def _judge(self, worker: int, steps: tuple[int, int], totals: list[float]) -> Iterator[Finding]:
        trained, count, spent, total, whole = totals
        percent = 100 * spent / max(total, 1e-9)
        # of all steps, also those that were not timed
        seconds = spent / max(total, 1e-9) * whole
        is_significant = count >= LIMITS.min_evaluations and seconds >= LIMITS.min_seconds
        if not is_significant or percent <= self.threshold:
            return
        training = total - spent
        allowed = training * LIMITS.target_percent / (100 - LIMITS.target_percent)
        factor = ceil(spent / max(allowed, 1e-9))
        every = max(1, round(trained / count))
        reason = (
            f"evaluation was timed; {factor} times as rarely, it takes "
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
