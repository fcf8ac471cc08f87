"""The stages of a job: initialization, training loop and finalization.

Boundaries are the start of an attempt, the start of its first step, the end of its last step, and
its end. The stages of several attempts are summed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.jobs import JobFacts
from sonde.read.workers import WorkerReader
from sonde.records.arrays import BoolArray, IntArray
from sonde.records.notice import NoticeKind
from sonde.records.step import EventCategory, Mode, Stage
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy

_COLUMNS = ("mode", "step", "start_ns", "duration_ns")


@dataclass(frozen=True)
class StepMarks:
    """Start and end of all steps of one worker, in all attempts."""

    attempts: IntArray
    steps: IntArray
    starts_ns: IntArray
    ends_ns: IntArray
    is_mode: dict[str, BoolArray]

    def count(self, mode: str) -> int:
        """The number of completed steps of a mode; repeated steps count once."""
        return len(np.unique(self.steps[self.is_mode[mode]])) if mode in self.is_mode else 0

    def of_training(self, attempt: int) -> tuple[int, int] | None:
        """Start and end of training in an attempt; of any steps if there are no training steps."""
        in_attempt = self.attempts == attempt
        training = in_attempt & self.is_mode.get(
            Mode.TRAIN.value, np.zeros(len(in_attempt), dtype=np.bool_)
        )
        chosen = training if training.any() else in_attempt
        if not chosen.any():
            return None
        return int(self.starts_ns[chosen].min()), int(self.ends_ns[chosen].max())


_SHORTEST_SECONDS = 1e-3  # boundaries of stages are not known more precisely


@dataclass(frozen=True, slots=True)
class StageSpan:
    """One stage: its duration, share, start and end; None if it has not started or ended."""

    stage: Stage
    seconds: float
    percent: float
    start_ns: int | None
    end_ns: int | None


def read_marks(reader: WorkerReader) -> StepMarks:
    """Read start and end of the steps of a worker."""
    only = {"category": {EventCategory.STEP.value}}
    table = reader.folder(EVENTS).rows(columns=_COLUMNS, only=only)
    modes, chosen = texts_of(table["mode"])
    starts_ns = to_numpy(table["start_ns"])
    ends_ns = starts_ns + to_numpy(table["duration_ns"])
    attempts = [life.info.attempt for life in reader.lives] or [1]
    lives = np.maximum(reader.lives_of(ends_ns), 0)
    return StepMarks(
        np.array(attempts, dtype=np.int64)[lives],
        to_numpy(table["step"]),
        starts_ns,
        ends_ns,
        {mode: chosen == number for number, mode in enumerate(modes)},
    )


def find_stages(facts: JobFacts, marks: Sequence[StepMarks], now_ns: int) -> tuple[StageSpan, ...]:
    """The three stages; empty for a job without workers, or if their boundaries are unknown."""
    if not facts.lives or not facts.attempts:
        return ()
    if _has_lost_boundaries(facts, marks) or _has_no_times(facts, marks):
        return ()
    edges = [
        _edges(facts, marks, number, now_ns)
        for number in sorted({item.attempt.number for item in facts.attempts})
    ]
    spent = np.diff(np.array(edges, dtype=np.int64), axis=1).sum(axis=0)
    seconds = [float(item) / NANOSECONDS for item in spent]
    seconds = [each if each >= _SHORTEST_SECONDS else 0.0 for each in seconds]
    total = sum(seconds)
    trained = [item for item in edges if item[2] > item[1]]
    is_over = facts.state.is_over
    instants = (
        (edges[0][0], trained[0][1] if trained else None),
        (trained[0][1] if trained else None, trained[-1][2] if trained and is_over else None),
        (trained[-1][2] if trained and is_over else None, edges[-1][3] if is_over else None),
    )
    return tuple(
        StageSpan(stage, lasted, 100 * lasted / total if total else 0.0, *instant)
        for stage, lasted, instant in zip(Stage, seconds, instants, strict=True)
    )


def _has_no_times(facts: JobFacts, marks: Sequence[StepMarks]) -> bool:
    """Whether steps were counted, but their times were not recorded, as in some imported jobs."""
    counts = [life.beat.steps.get(Mode.TRAIN.value, 0) for life in facts.lives if life.beat]
    numbers = {item.attempt.number for item in facts.attempts}
    is_timed = any(item.of_training(number) for item in marks for number in numbers)
    return facts.state.is_over and not is_timed and any(counts)


def _has_lost_boundaries(facts: JobFacts, marks: Sequence[StepMarks]) -> bool:
    """Whether training steps before the first or after the last recorded one were lost."""
    numbers = {item.attempt.number for item in facts.attempts}
    spans = [span for item in marks for number in numbers if (span := item.of_training(number))]
    return any(
        not any(first <= notice.start_ns and notice.end_ns <= last for first, last in spans)
        for notice in facts.notices
        if notice.kind is NoticeKind.LOST_STEPS
    )


def _edges(
    facts: JobFacts, marks: Sequence[StepMarks], attempt: int, now_ns: int
) -> tuple[int, int, int, int]:
    """Start of an attempt, start and end of its training, end of the attempt."""
    nodes = [item for item in facts.attempts if item.attempt.number == attempt]
    start_ns = min(item.attempt.start_ns for item in nodes)
    end_ns = max(item.end_ns(now_ns) for item in nodes)
    spans = [span for item in marks if (span := item.of_training(attempt)) is not None]
    if not spans:
        return start_ns, end_ns, end_ns, end_ns
    first_ns = min(max(min(first for first, _ in spans), start_ns), end_ns)
    last_ns = min(max(first_ns, *(last for _, last in spans)), end_ns)
    is_over = all(item.state.is_over for item in nodes) or _are_workers_over(facts, attempt)
    return start_ns, first_ns, last_ns if is_over else end_ns, end_ns


def _are_workers_over(facts: JobFacts, attempt: int) -> bool:
    """Whether every worker has finished, even if the command is still running."""
    beats = [life.beat for life in facts.lives if life.info.attempt == attempt]
    return bool(beats) and all(beat is not None and beat.is_over for beat in beats)
