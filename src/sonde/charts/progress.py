"""Stages of each attempt over time, and the interruptions between attempts."""

from collections.abc import Iterator
from itertools import pairwise

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, pluralize
from sonde.read.stages import StepMarks, read_marks
from sonde.records.chart import Lane, Lanes, Span, Spec
from sonde.records.step import Stage
from sonde.results.job import JobResults
from sonde.results.phase_lookup import readable_name


class Progress(Chart):
    """Training progress over time: stages, interruptions, resumed attempts."""

    title = "Training progress over time"
    overview = OverviewPlace(OverviewSection.SUMMARY, order=2)
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
            for number in sorted({attempt.attempt.number for attempt in facts.attempts})
            for span in _attempt(job, number, marks, end_ns)
        ]
        breaks = list(_breaks(job, end_ns))
        if not job.lives and not breaks:
            return None  # no training and no interruption: a single bar says nothing
        lost = sum(end - start for start, end in breaks) / NANOSECONDS
        spans += [(start, end, "interruption") for start, end in breaks]
        note = (
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
                    label=readable_name(name),
                    tone=name,
                )
                for start, end, name in sorted(spans)
                if end > start
            ),
        )
        end = (end_ns - start_ns) / NANOSECONDS
        return Lanes(title=self.title, note=note, lanes=(lane,), end=end)


def _latest_sign(job: JobResults) -> int:
    """The last sign of life of a running job."""
    beats = [each.heartbeat.time_ns for each in job.facts.latest if each.heartbeat is not None]
    beats += [life.beat.time_ns for life in job.lives if life.beat is not None]
    return max([*beats, job.facts.start_ns or 0])


def _attempt(
    job: JobResults, number: int, marks: list[StepMarks], end_ns: int
) -> Iterator[tuple[int, int, str]]:
    """Start, end and name of each stage of an attempt."""
    nodes = [attempt for attempt in job.facts.attempts if attempt.attempt.number == number]
    first_ns = min(node.attempt.start_ns for node in nodes)
    last_ns = max(node.end_ns(end_ns) for node in nodes)
    trained = [span for mark in marks if (span := mark.of_training(number)) is not None]
    if not trained:
        yield first_ns, last_ns, Stage.INITIALIZATION.value
        return
    is_over = all(node.state.is_over for node in nodes)
    trained_ns = max(last for _, last in trained) if is_over else last_ns
    loop = (min(first for first, _ in trained), trained_ns)
    yield first_ns, loop[0], Stage.INITIALIZATION.value
    yield *loop, Stage.TRAINING_LOOP.value
    yield loop[1], last_ns, Stage.FINALIZATION.value


def _breaks(job: JobResults, end_ns: int) -> Iterator[tuple[int, int]]:
    """Start and end of the gaps between attempts."""
    edges: dict[int, tuple[int, int]] = {}
    for attempt in job.facts.attempts:
        bounds = edges.get(
            attempt.attempt.number, (attempt.attempt.start_ns, attempt.end_ns(end_ns))
        )
        edges[attempt.attempt.number] = (
            min(bounds[0], attempt.attempt.start_ns),
            max(bounds[1], attempt.end_ns(end_ns)),
        )
    ordered = [edges[number] for number in sorted(edges)]
    for (_, ended), (began, _) in pairwise(ordered):
        if began > ended:
            yield ended, began
