"""Time of profiled steps by device: compute, communication, copies, idle."""

from sonde.charts._chart import Chart
from sonde.formats import format_duration
from sonde.records.chart import BarSeries, Spec, StackedBars
from sonde.results.job import JobResults

_TONES = {
    "compute": "gpu",
    "communication": "communication",
    "copies": "memory",
    "idle": "data_wait",
    "not_covered": "interruption",
}


class DeviceTime(Chart):
    """Share of profiled time that each device spent on operators."""

    title = "Time on CPU and GPU operators"
    section = "framework"
    order = 3
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        rows = job.breakdown(worker=self.worker).to_arrow().to_pylist()
        if not rows:
            return None
        names = [name for name in rows[0] if name.endswith("_percent")]
        used = [name for name in names if any(row[name] for row in rows)]
        workers = {row["worker"] for row in rows}
        labels = tuple(
            row["device"] if len(workers) == 1 else f"worker {row['worker']} {row['device']}"
            for row in rows
        )
        return StackedBars(
            title=self.title,
            note=f"Share of {format_duration(rows[0]['seconds'])} of profiled time.",
            labels=labels,
            parts=tuple(
                BarSeries(
                    label=name.removesuffix("_percent").replace("_", " "),
                    values=tuple(row[name] for row in rows),
                    tone=_tone(name),
                )
                for name in used
            ),
            unit="percent",
        )


def _tone(name: str) -> str:
    return next((tone for activity, tone in _TONES.items() if activity in name), "")
