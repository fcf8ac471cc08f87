"""Gradient norm over steps."""

from dataclasses import replace

import numpy as np

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Spec
from sonde.records.need import Losses, Scalars
from sonde.results.curves import curves_over_steps, rows_within
from sonde.results.job import JobResults
from sonde.store.tables import to_numpy


class GradientNorms(Chart):
    """The norm of all gradients over steps."""

    title = "Gradient norms"
    overview = OverviewPlace(OverviewSection.TRAINING, order=3)
    section = "tensors"
    order = 4
    takes_steps = True
    draws = (Scalars("gradient_norm*"), Losses())
    key = 5

    def build(self, job: JobResults) -> Spec | None:
        rows = job.scalars("gradient_norm*", mode="train").reduced().to_arrow()
        rows = rows_within(rows, self.steps)
        chart = curves_over_steps(rows, self.title)
        if chart is None:
            return None
        values = to_numpy(rows["value"])
        finite = values[np.isfinite(values)]
        if not len(finite):
            return replace(chart, note="No step has finite gradients.")
        note = f"Median {float(np.median(finite)):.3g}, maximum {float(finite.max()):.3g}."
        is_wide = finite.min() > 0 and finite.max() > 100 * np.median(finite)
        return replace(chart, note=note, is_logarithmic=bool(is_wide))
