"""Time of the training loop by mode: training, evaluation, other."""

from sonde.charts._chart import Chart
from sonde.clock import NANOSECONDS
from sonde.formats import format_percent
from sonde.records.chart import BarSeries, Spec, StackedBars
from sonde.records.step import Mode, Stage
from sonde.results.job import JobResults
from sonde.results.phase_lookup import OTHERS

_TONES = {Mode.TRAIN.value: "training_loop", Mode.EVAL.value: "eval", OTHERS: "interruption"}


class ModeTime(Chart):
    """Share of the training loop spent in training and evaluation steps and outside of steps."""

    title = "The ratio between the time spent on the TRAIN/EVAL phase and others"
    pages = ("overview",)
    section = "framework"
    order = 1

    def build(self, job: JobResults) -> Spec | None:
        loop = next((one for one in job.stages.spans if one.stage is Stage.TRAINING_LOOP), None)
        if loop is None or not loop.seconds:
            return None
        tables = job.steps(None).tables
        workers = max(1, len({table.worker for table in tables}))
        spent = {
            mode.value: sum(int(one.durations_ns.sum()) for one in tables if one.mode == mode.value)
            / NANOSECONDS
            / workers
            for mode in Mode
        }
        spent = {mode: seconds for mode, seconds in spent.items() if seconds}
        spent[OTHERS] = max(0.0, loop.seconds - sum(spent.values()))
        whole = sum(spent.values())
        shares = [f"{mode} {format_percent(100 * one / whole, 1)}" for mode, one in spent.items()]
        whose = " (mean of all workers)" if workers > 1 else ""
        return StackedBars(
            title=self.title,
            note=f"Training loop{whose}: {', '.join(shares)}.",
            labels=("training loop",),
            parts=tuple(
                BarSeries(label=mode, values=(one,), tone=_TONES.get(mode, mode))
                for mode, one in spent.items()
            ),
            unit="seconds",
        )
