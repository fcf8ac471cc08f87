"""Downloads of a job: a trace for Perfetto, a Python profile for speedscope, CSV."""

import io
from collections.abc import Sequence

from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.exports import EXPORTS, Selection
from sonde.formats import format_count
from sonde.records.python_profile import PythonProfiler
from sonde.records.ranges import EVER, TimeRange
from sonde.results.job import JobResults
from sonde.results.system import SystemMetrics
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, file_reply

_FORMATS = {
    "chrome-trace": ("trace.json", "application/json"),
    "speedscope": ("speedscope.json", "application/json"),
    "csv": ("csv", "text/csv; charset=utf-8"),
}
_MAX_VALUES = 5_000_000  # samples and slices; about 400 MB as a trace


class ExportEndpoints(EndpointGroup):
    """`export`: a download."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/export", _export, is_cached=False),)  # too large to cache


def _export(query: Query) -> Reply:
    name = query.choice("format", tuple(_FORMATS))
    suffix, media_type = _FORMATS[name]
    export = EXPORTS.load(name)()
    sink = io.BytesIO()
    with query.job.results() as results:
        export.write(_selection(query, results, name), sink, lambda _count: None)
    return file_reply(sink.getvalue(), f"{query.job.name}.{suffix}", media_type)


def _selection(query: Query, results: JobResults, name: str) -> Selection:
    start, end = query.seconds("start"), query.seconds("end")
    worker = query.worker if query.text("worker") else None
    within = _within(query, start, end)
    system = results.system()
    if name != "speedscope":
        _check_size(results.name, system, within, name)
    if name == "chrome-trace":
        timeline = results.timeline(worker=worker, start=start, end=end).data
        _check_count(results.name, timeline.size, name)  # now including slices
        return Selection(results.name, (), (), timeline=timeline)
    if name == "speedscope":
        profiles = tuple(
            window
            for profiler in PythonProfiler
            for window in results.python(profiler.value, worker=worker).windows
        )
        if not profiles:
            raise UsageError(
                f"Job {results.name!r} has no Python profile. Record one with: "
                f"sonde profile {results.name} --kinds python"
            )
        return Selection(results.name, (), (), python=profiles)
    return Selection(results.name, system.readers, system.series, within)


def _check_size(job: str, system: SystemMetrics, within: TimeRange, name: str) -> None:
    """Refuse a file that would exceed the server's memory before reading anything."""
    values = 0.0
    for reader in system.readers:
        extent = reader.extent
        if extent is not None:
            first_ns = max(extent.first_ns, within.start_ns or extent.first_ns)
            last_ns = min(extent.last_ns, within.end_ns or extent.last_ns)
            share = (last_ns - first_ns + 1) / (extent.last_ns - extent.first_ns + 1)
            values += max(0.0, share) * extent.rows * len(reader.series())
    _check_count(job, values, name)


def _check_count(job: str, values: float, name: str) -> None:
    if values > _MAX_VALUES:
        raise UsageError(
            f"This range of {job!r} has about {format_count(values)} values, too many to "
            "download. "
            f"Zoom in, or use: sonde export {job} --format {name} -o FILE"
        )


def _within(query: Query, start: float | None, end: float | None) -> TimeRange:
    if start is None and end is None:
        return EVER
    first_ns = query.job.extent.start_ns or 0
    return TimeRange(
        None if start is None else first_ns + round(start * NANOSECONDS),
        None if end is None else first_ns + round(end * NANOSECONDS),
    )
