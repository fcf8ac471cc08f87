"""Stages of each attempt over time, and the interruptions between attempts."""

from collections.abc import Iterator
from itertools import pairwise

from sonde.charts._chart import Chart
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, pluralize
from sonde.read.stages import StepMarks, read_marks
from sonde.records.chart import Lane, Lanes, Span, Spec
from sonde.records.step import Stage
from sonde.results.job import JobResults
from sonde.results.phase_lookup import spoken


class Progress(Chart):
    """Training progress over time: stages, interruptions, resumed attempts."""

    title = "Training progress over time"
    pages = ("overview",)
    section = "summary"
    order = 3

    def build(self, job: JobResults) -> Spec | None:
        facts = job.facts
        if facts.start_ns is None or not facts.attempts:
            return None
        start_ns = facts.start_ns
        end_ns = facts.end_ns or _latest_sign(job)
        marks = [read_marks(reader) for reader in job.steps(None).readers]
        spans = [
            span
            for number in sorted({one.attempt.number for one in facts.attempts})
            for span in _attempt(job, number, marks, end_ns)
        ]
        breaks = list(_breaks(job, end_ns))
        if not job.lives and not breaks:
            return None  # no training and no interruption: a single bar says nothing
        lost = sum(end - start for start, end in breaks) / NANOSECONDS
        spans += [(start, end, "interruption") for start, end in breaks]
        said = (
            f"{pluralize(len(breaks), 'interruption')}, {format_duration(lost)} in total."
            if breaks
            else ""
        )
        lane = Lane(
            label="job",
            spans=tuple(
                Span(
                    start=(start - start_ns) / NANOSECONDS,
                    end=(end - start_ns) / NANOSECONDS,
                    label=spoken(name),
                    tone=name,
                )
                for start, end, name in sorted(spans)
                if end > start
            ),
        )
        end = (end_ns - start_ns) / NANOSECONDS
        return Lanes(title=self.title, note=said, lanes=(lane,), end=end)


def _latest_sign(job: JobResults) -> int:
    """The last sign of life of a running job."""
    beats = [one.heartbeat.time_ns for one in job.facts.latest if one.heartbeat is not None]
    beats += [one.beat.time_ns for one in job.lives if one.beat is not None]
    return max([*beats, job.facts.start_ns or 0])


def _attempt(
    job: JobResults, number: int, marks: list[StepMarks], end_ns: int
) -> Iterator[tuple[int, int, str]]:
    """Start, end and name of each stage of an attempt."""
    nodes = [one for one in job.facts.attempts if one.attempt.number == number]
    first_ns = min(one.attempt.start_ns for one in nodes)
    last_ns = max(one.end_ns(end_ns) for one in nodes)
    trained = [span for one in marks if (span := one.of_training(number)) is not None]
    if not trained:
        yield first_ns, last_ns, Stage.INITIALIZATION.value
        return
    is_over = all(one.state.is_over for one in nodes)
    trained_ns = max(last for _, last in trained) if is_over else last_ns
    loop = (min(first for first, _ in trained), trained_ns)
    yield first_ns, loop[0], Stage.INITIALIZATION.value
    yield *loop, Stage.TRAINING_LOOP.value
    yield loop[1], last_ns, Stage.FINALIZATION.value


def _breaks(job: JobResults, end_ns: int) -> Iterator[tuple[int, int]]:
    """Start and end of the gaps between attempts."""
    edges: dict[int, tuple[int, int]] = {}
    for one in job.facts.attempts:
        known = edges.get(one.attempt.number, (one.attempt.start_ns, one.end_ns(end_ns)))
        edges[one.attempt.number] = (
            min(known[0], one.attempt.start_ns),
            max(known[1], one.end_ns(end_ns)),
        )
    ordered = [edges[number] for number in sorted(edges)]
    for (_, ended), (began, _) in pairwise(ordered):
        if began > ended:
            yield ended, began
