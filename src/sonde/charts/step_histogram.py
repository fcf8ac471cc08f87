"""Distribution of step durations per worker."""

import numpy as np

from sonde.analyze.durations import shared_histogram
from sonde.analyze.outliers import outlier_limit
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, pluralize
from sonde.records.chart import BarSeries, Histogram, Spec
from sonde.results.job import JobResults
from sonde.results.throughput import trained_steps

_BINS = 40
_MAX_WORKERS = 16  # workers
_ROOM = 1.25  # beyond the outlier limit, so that the first outliers are visible


class StepHistogram(Chart):
    """Distribution of training step durations, one group per worker."""

    title = "Step duration histogram"
    overview = OverviewPlace(OverviewSection.OPERATIONS, order=4)
    section = "steps"
    order = 2
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        tables = trained_steps(job, self.worker)
        if not tables:
            return None
        groups = {
            table.worker: table.durations_ns[table.is_representative] / NANOSECONDS
            for table in tables
        }
        all_seconds = np.concatenate(list(groups.values()))
        highest = _ROOM * outlier_limit(all_seconds)
        beyond = int((all_seconds > highest).sum())
        shown = dict(
            sorted(groups.items(), key=lambda group: -float(group[1].mean()))[:_MAX_WORKERS]
        )
        edges, counts = shared_histogram(list(shown.values()), _BINS, highest)
        note = (
            f"The last bar includes {pluralize(beyond, 'step')} longer than "
            f"{format_duration(highest)}."
        )
        return Histogram(
            title=self.title,
            note=note if beyond else "",
            coarsened=f"Only the {_MAX_WORKERS} slowest of {len(groups):,} workers are shown."
            if len(groups) > _MAX_WORKERS
            else "",
            edges=tuple(edges.tolist()),
            parts=tuple(
                BarSeries(label=f"worker {worker}", values=tuple(row.tolist()))
                for worker, row in sorted(zip(shown, counts, strict=True))
            ),
            unit="seconds",
            counted="steps",
        )
