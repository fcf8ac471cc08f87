"""What the machine did while a loader worked."""

from dataclasses import replace

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.records.loading import HOST_METRICS, LoaderHost, LoaderRecord
from sonde.records.ranges import TimeRange

_MOST_BUCKETS = 200


def with_host(record: LoaderRecord, machine: SystemReader | None, workers: int) -> LoaderRecord:
    """The same with what the machine did while batches were waited for.

    Args:
        record: What was recorded of a loader.
        machine: Its node; None where nobody has measured anything there.
        workers: How many train there.
    """
    times_ns = record.wait_times_ns
    if machine is None or not times_ns:
        return replace(record, host=LoaderHost(workers))
    end_ns = times_ns[-1] + NANOSECONDS  # a sample tells of the time before it
    known = {
        # a limit is told now and then, and holds on
        name: _mean(machine, metric, TimeRange(None if name == "cores" else times_ns[0], end_ns))
        for name, metric in HOST_METRICS.items()
    }
    return replace(record, host=LoaderHost(workers, **known))


def _mean(machine: SystemReader, metric: str, within: TimeRange) -> float | None:
    series = machine.series(metric, "")
    if not series:
        return None
    buckets = machine.buckets(series[:1], _MOST_BUCKETS, within)
    counts = buckets.count[0]
    whole = int(counts.sum())
    return float(np.nansum(buckets.mean[0] * counts)) / whole if whole else None
