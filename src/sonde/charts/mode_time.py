"""How the time of the training loop divides into training, evaluation and the rest."""

from sonde.charts._chart import Chart
from sonde.clock import NANOSECONDS
from sonde.formats import format_percent
from sonde.records.chart import Part, Spec, StackedBars
from sonde.records.step import Mode, Stage
from sonde.results.job import JobResults
from sonde.results.phase_lookup import OTHERS

_TONES = {Mode.TRAIN.value: "training_loop", Mode.EVAL.value: "eval", OTHERS: "interruption"}


class ModeTime(Chart):
    """TRAIN, EVAL and others: what the training loop was spent on."""

    title = "The ratio between the time spent on the TRAIN/EVAL phase and others"
    pages = ("overview",)
    section = "framework"

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
        whose = " (mean of the workers)" if workers > 1 else ""
        return StackedBars(
            title=self.title,
            note=f"Of the training loop{whose}: {', '.join(shares)}.",
            labels=("training loop",),
            parts=tuple(
                Part(label=mode, values=(one,), tone=_TONES.get(mode, mode))
                for mode, one in spent.items()
            ),
            unit="seconds",
        )
