"""Load of the machine while a data loader was running."""

from dataclasses import replace

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.records.loading import HOST_METRICS, LoaderHost, LoaderRecord
from sonde.records.ranges import TimeRange

_MAX_BUCKETS = 200


def with_host(record: LoaderRecord, machine: SystemReader | None, workers: int) -> LoaderRecord:
    """Add the machine's load during the data waits to a loader's record.

    Args:
        record: The loader.
        machine: The samples of its node; None if there are none.
        workers: The number of training processes on that node.
    """
    times_ns = record.wait_times_ns
    if machine is None or not times_ns:
        return replace(record, host=LoaderHost(workers))
    end_ns = times_ns[-1] + NANOSECONDS  # a sample covers the time before it
    means = {
        # limits are sampled rarely and stay valid
        name: _mean(machine, metric, TimeRange(None if name == "cores" else times_ns[0], end_ns))
        for name, metric in HOST_METRICS.items()
    }
    return replace(record, host=LoaderHost(workers, **means))


def _mean(machine: SystemReader, metric: str, within: TimeRange) -> float | None:
    series = machine.series(metric, "")
    if not series:
        return None
    buckets = machine.buckets(series[:1], _MAX_BUCKETS, within)
    counts = buckets.count[0]
    total = int(counts.sum())
    return float(np.nansum(buckets.mean[0] * counts)) / total if total else None
