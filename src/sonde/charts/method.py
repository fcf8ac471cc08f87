"""How the numbers were measured."""

from sonde.charts._chart import Chart
from sonde.formats import format_duration
from sonde.records.chart import Spec, Text
from sonde.results.job import JobResults


class Method(Chart):
    """How samples, steps and profiles were measured."""

    title = "Method"
    section = "environment"
    order = 3

    def build(self, job: JobResults) -> Spec | None:
        status = job.summary
        paragraphs = []
        if status["runs"]:
            interval = format_duration(status["runs"][-1]["interval_seconds"])
            paragraphs.append(
                f"System metrics are sampled every {interval}. Percentiles are exact: they are "
                "computed from all samples."
            )
        if status["steps"]:
            paragraphs.append(
                "A step is one optimizer iteration of one worker. Its phases add up to its "
                "duration: if phases overlap, the time belongs to the one that began last, and "
                "time outside of all phases is “between”."
            )
        if status["profiles"]:
            steps = [f"{window['kind']} {_steps(window)}" for window in status["profiles"][:6]]
            paragraphs.append(
                f"Operators, kernels and functions were profiled in a few steps only "
                f"({'; '.join(steps)}). Time in which several operators run is divided "
                "between them, so that shares add up to 100%. Durations of profiled steps are "
                "excluded from statistics because profilers slow them down."
            )
        paragraphs.append("Times are in the time zone of the machine that generated this page.")
        return Text(title=self.title, paragraphs=tuple(paragraphs))


def _steps(window: dict[str, int]) -> str:
    first, last = window["first_step"], window["last_step"]
    return f"step {first}" if first == last else f"steps {first}–{last}"
