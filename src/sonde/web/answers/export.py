"""A job as a file for other programs: a trace for Perfetto, Python for speedscope, CSV."""

import io
from collections.abc import Sequence

from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.exports import EXPORTS, Selection
from sonde.records.python_profile import PythonProfiler
from sonde.records.ranges import EVER, TimeRange
from sonde.results.job import JobResults
from sonde.results.system import SystemMetrics
from sonde.web.answers._answers import Address, Answers
from sonde.web.query_params import Question
from sonde.web.replies import Reply, file_reply

_FORMATS = {
    "chrome-trace": ("trace.json", "application/json"),
    "speedscope": ("speedscope.json", "application/json"),
    "csv": ("csv", "text/csv; charset=utf-8"),
}
_MOST_VALUES = 5_000_000  # of metrics, and slices; about 400 MB as a trace


class FileOfAJob(Answers):
    """`export`: a download."""

    def addresses(self) -> Sequence[Address]:
        """One address; what it gives is too large to be kept."""
        return (Address("/jobs/{job}/export", _export, is_kept=False),)


def _export(question: Question) -> Reply:
    name = question.choice("format", tuple(_FORMATS))
    ending, media_type = _FORMATS[name]
    export = EXPORTS.load(name)()
    sink = io.BytesIO()
    with question.job.results() as results:
        export.write(_selection(question, results, name), sink, lambda _count: None)
    return file_reply(sink.getvalue(), f"{question.job.name}.{ending}", media_type)


def _selection(question: Question, results: JobResults, name: str) -> Selection:
    start, end = question.seconds("start"), question.seconds("end")
    worker = question.worker if question.text("worker") else None
    within = _within(question, start, end)
    system = results.system()
    if name != "speedscope":
        _check_size(results.name, system, within, name)
    if name == "chrome-trace":
        timeline = results.timeline(worker=worker, start=start, end=end).data
        _refuse_more(results.name, timeline.size, name)  # now with what workers did
        return Selection(results.name, (), (), timeline=timeline)
    if name == "speedscope":
        profiles = tuple(
            window
            for profiler in PythonProfiler
            for window in results.python(profiler.value, worker=worker).windows
        )
        if not profiles:
            raise UsageError(
                f"Job {results.name!r} has no profile of Python. Record one with: "
                f"sonde profile {results.name} --kinds python"
            )
        return Selection(results.name, (), (), python=profiles)
    return Selection(results.name, system.readers, system.series, within)


def _check_size(job: str, system: SystemMetrics, within: TimeRange, name: str) -> None:
    """A file that the server could not hold is refused before anything is read."""
    values = 0.0
    for reader in system.readers:
        extent = reader.extent
        if extent is not None:
            first_ns = max(extent.first_ns, within.start_ns or extent.first_ns)
            last_ns = min(extent.last_ns, within.end_ns or extent.last_ns)
            share = (last_ns - first_ns + 1) / (extent.last_ns - extent.first_ns + 1)
            values += max(0.0, share) * extent.rows * len(reader.series())
    _refuse_more(job, values, name)


def _refuse_more(job: str, values: float, name: str) -> None:
    if values > _MOST_VALUES:
        raise UsageError(
            f"This stretch of {job!r} holds about {values:.2g} values, too many for a download. "
            f"Zoom in, or use: sonde export {job} --format {name} -o FILE"
        )


def _within(question: Question, start: float | None, end: float | None) -> TimeRange:
    if start is None and end is None:
        return EVER
    first_ns = question.job.extent.start_ns or 0
    return TimeRange(
        None if start is None else first_ns + round(start * NANOSECONDS),
        None if end is None else first_ns + round(end * NANOSECONDS),
    )
