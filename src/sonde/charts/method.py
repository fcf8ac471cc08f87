"""How the figures were obtained."""

from sonde.charts._chart import Chart
from sonde.records.chart import Spec, Text
from sonde.results.job import JobResults


class Method(Chart):
    """How the figures were obtained, for those that were."""

    title = "How the figures were obtained"
    section = "environment"

    def build(self, job: JobResults) -> Spec | None:
        status = job.summary
        said = []
        if status["runs"]:
            every = status["runs"][-1]["interval_seconds"]
            said.append(
                f"Machines were sampled every {every:g} s; percentiles are exact, of all samples."
            )
        if status["steps"]:
            said.append(
                "A step is one optimizer iteration of one worker. Its phases add up to it: an "
                "instant belongs to the phase that began last, and what is left is “between”."
            )
        if status["profiles"]:
            steps = [f"{one['kind']} {_steps(one)}" for one in status["profiles"][:6]]
            said.append(
                f"Profilers looked deeper for a few steps only ({'; '.join(steps)}); operators, "
                "kernels and functions are of these. Shares of operators that run at once are "
                "divided among them, so that they add up. These steps count, their durations do "
                "not: profilers make them longer."
            )
        said.append("Times of day are those of the zone in which this page was written.")
        return Text(title=self.title, paragraphs=tuple(said))


def _steps(window: dict[str, int]) -> str:
    first, last = window["first_step"], window["last_step"]
    return f"step {first}" if first == last else f"steps {first}–{last}"
