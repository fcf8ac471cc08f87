"""Time of the training loop by mode: training, evaluation, other."""

from sonde.charts._chart import Chart
from sonde.clock import NANOSECONDS
from sonde.formats import format_percent
from sonde.records.chart import BarSeries, Spec, StackedBars
from sonde.records.step import Mode, Stage
from sonde.results.job import JobResults
from sonde.results.phase_lookup import OUTSIDE_STEPS

_TONES = {Mode.TRAIN.value: "training_loop", Mode.EVAL.value: "eval", OUTSIDE_STEPS: "interruption"}


class ModeTime(Chart):
    """Share of the training loop spent in training and evaluation steps and outside of steps."""

    title = "Time in training, evaluation and other code"
    section = "framework"
    order = 1

    def build(self, job: JobResults) -> Spec | None:
        loop = next((span for span in job.stages.spans if span.stage is Stage.TRAINING_LOOP), None)
        if loop is None or not loop.seconds:
            return None
        tables = job.steps(None).tables
        workers = max(1, len({table.worker for table in tables}))
        seconds_by_mode = {
            mode.value: sum(
                int(table.durations_ns.sum()) for table in tables if table.mode == mode.value
            )
            / NANOSECONDS
            / workers
            for mode in Mode
        }
        seconds_by_mode = {mode: seconds for mode, seconds in seconds_by_mode.items() if seconds}
        seconds_by_mode[OUTSIDE_STEPS] = max(0.0, loop.seconds - sum(seconds_by_mode.values()))
        total = sum(seconds_by_mode.values())
        shares = [
            f"{mode} {format_percent(100 * each / total)}" for mode, each in seconds_by_mode.items()
        ]
        qualifier = " (mean of all workers)" if workers > 1 else ""
        return StackedBars(
            title=self.title,
            note=f"Training loop{qualifier}: {', '.join(shares)}.",
            labels=("training loop",),
            parts=tuple(
                BarSeries(label=mode, values=(each,), tone=_TONES.get(mode, mode))
                for mode, each in seconds_by_mode.items()
            ),
            unit="seconds",
        )
