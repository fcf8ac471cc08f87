"""Select and export data of a fake job."""

import io

from sonde.exports import EXPORTS, Selection
from sonde.read.system import SystemReader
from sonde.records.ranges import EVER, TimeRange
from tests.fakes.job import FakeJob


def select(
    job: FakeJob, *, nodes: tuple[str, ...] = (), within: TimeRange = EVER, buckets: int = 0
) -> Selection:
    readers = tuple(SystemReader(job.backend, node) for node in nodes or (job.node,))
    series = {each_series.key: each_series for reader in readers for each_series in reader.series()}
    return Selection("resnet", readers, tuple(series.values()), within, buckets or None)


def export(format_: str, selection: Selection) -> bytes:
    sink = io.BytesIO()
    EXPORTS.load(format_)().write(selection, sink, lambda _count: None)
    return sink.getvalue()
