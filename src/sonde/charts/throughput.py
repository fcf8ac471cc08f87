"""Training steps per second over steps."""

import numpy as np

from sonde.analyze.curves import bucket_values
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.clock import NANOSECONDS
from sonde.formats import format_value
from sonde.records.chart import Curve, LineChart, Spec
from sonde.records.need import Steps
from sonde.results.job import JobResults
from sonde.results.throughput import slowest_worker, steps_per_second, trained_steps

_POINTS = 100  # fewer than other curves: a rate needs several steps per point


class Throughput(Chart):
    """Training steps per second, of the slowest worker."""

    title = "Throughput"
    overview = OverviewPlace(OverviewSection.TRAINING, order=5)
    section = "steps"
    order = 3
    draws = (Steps(),)
    key = 3
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        tables = trained_steps(job, self.worker)
        if not tables:
            return None
        slowest = slowest_worker(tables)
        first, last = int(slowest.steps[0]), int(slowest.steps[-1])
        edges = np.linspace(first, last + 1, min(_POINTS, last - first + 1) + 1)
        durations = bucket_values(slowest.steps, slowest.durations_ns / NANOSECONDS, edges)
        with np.errstate(divide="ignore"):
            rates = 1 / durations.mean
        mean_rate = format_value(steps_per_second(slowest), "count")
        return LineChart(
            title=self.title,
            note=f"{mean_rate} steps per second on average.",
            x=tuple(np.ceil(edges[:-1]).tolist()),
            x_title="Step",
            unit="steps/s",
            curves=(Curve(label=f"worker {slowest.worker}", values=tuple(rates.tolist())),),
            low=0.0,
        )
