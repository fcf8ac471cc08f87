"""Time to write the report of a day: 120 series, 100,000 steps, on one core.

Measures `sonde report` at the end of a job, with recorded findings. rules_cost measures running all
rules on such a job.
"""

import os
import sys
import tempfile
import time

from benchmarks.report import Row
from benchmarks.trained import trained_day
from sonde.client.reports import report_of

_STEPS = 100_000
_BAR_SECONDS = 15.0
_BAR_BYTES = 1_000_000


def main(steps: int = _STEPS) -> list[Row]:
    """Measure the time from opening the job to the page, and the page size."""
    with tempfile.TemporaryDirectory() as folder:
        backend, clock = trained_day(f"{folder}/day", steps)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        before = time.perf_counter()
        report = report_of(backend, clock)
        seconds = time.perf_counter() - before
    size = len(report.html.encode())
    failed = f"; failed: {report.document['failed']}" if report.document["failed"] else ""
    what = f"report of a day, 120 series, {steps:,} steps"
    return [
        Row(
            what,
            seconds,
            "s",
            bar=f"≤ {_BAR_SECONDS:g} s",
            is_met=seconds <= _BAR_SECONDS,
            note=f"on one core, from opening the job to the finished page{failed}",
        ),
        Row(
            f"{what}: page size",
            size / 1e6,
            "MB",
            bar=f"≤ {_BAR_BYTES / 1e6:g} MB",
            is_met=size <= _BAR_BYTES,
        ),
    ]


if __name__ == "__main__":
    for row in main(*map(int, sys.argv[1:])):
        print(f"{row.what}: {row.measured:.3g} {row.unit}; {row.note}")
