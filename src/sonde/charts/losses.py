"""Training and evaluation losses over steps."""

from dataclasses import replace

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Spec
from sonde.records.need import Losses as LossNeed
from sonde.records.step import Mode
from sonde.results.curves import losses_over_steps, rows_within
from sonde.results.evaluations import latest_evaluations
from sonde.results.job import JobResults


class Losses(Chart):
    """Training loss (mean of all workers) and evaluation losses over training steps."""

    title = "Losses"
    overview = OverviewPlace(OverviewSection.TRAINING, order=1)
    section = "tensors"
    order = 1
    headline = 8
    draws = (LossNeed(),)
    key = 1
    takes_steps = True

    def build(self, job: JobResults) -> Spec | None:
        summary = job.summary
        rows = rows_within(job.losses.reduced().to_arrow(), self.steps)
        evaluations = [
            evaluation
            for evaluation in summary.get("evaluations", [])
            if self.steps.overlaps(evaluation["step"], evaluation["step"])
        ]
        chart = losses_over_steps(rows, self.title, evaluations)
        if chart is None:
            return None
        texts = [
            f"{label} {loss['value']:.4g} at step {loss['step']:,}"
            for label, loss in summary["losses"].items()
            if not (evaluations and label.partition("/")[0] == Mode.EVAL)
        ]
        texts += [
            f"{result['name']} {result['loss']:.4g} at step {result['step']:,}"
            for result in latest_evaluations(evaluations)
            if result["loss"] is not None
        ]
        return replace(chart, note=f"Last loss: {'; '.join(texts)}." if texts else "")
