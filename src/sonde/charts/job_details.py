"""Start, end and duration of a job and its stages, its efficiency and its cost."""

from collections.abc import Iterator

from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.clock import iso
from sonde.formats import format_duration, format_local_time
from sonde.records.chart import Cell, Fact, Facts, Spec
from sonde.records.step import Stage
from sonde.results.cost import cost_text
from sonde.results.efficiency import read_cost, read_efficiency
from sonde.results.job import JobResults


class JobDetails(Chart):
    """Start and end of the job, the duration of its stages, its FLOP/s and its cost."""

    title = "Job details"
    overview = OverviewPlace(OverviewSection.SUMMARY, order=3, size=ChartSize.TALL)
    section = "summary"
    order = 1
    headline = 2

    def build(self, job: JobResults) -> Spec | None:
        status = job.summary
        spans = {span.stage: span for span in job.stages.spans}
        facts = [
            Fact(name="start_time", title="Start time", value=status["start_time"], unit="time"),
            Fact(name="end_time", title="End time", value=status["end_time"], unit="time"),
            _seconds("job_duration", "Job duration", status["duration_seconds"]),
        ]
        loop = spans.get(Stage.TRAINING_LOOP)
        if loop is not None:
            facts += [
                _instant("training_loop_start", "Training loop start", loop.start_ns),
                _instant("training_loop_end", "Training loop end", loop.end_ns),
            ]
        for stage, title in _TITLES.items():
            if stage in spans:
                facts.append(_seconds(f"{stage.value}_duration", title, spans[stage].seconds))
        for stage, title in _TITLES.items():
            if stage in spans:
                name, share = f"{stage.value}_percent", spans[stage].percent
                facts.append(Fact(name=name, title=f"{title} share", value=share, unit="percent"))
        facts += _efficiency(job)
        return Facts(title=self.title, note=_sentence(status), facts=tuple(facts))


_TITLES = {
    Stage.TRAINING_LOOP: "Training loop",
    Stage.INITIALIZATION: "Initialization",
    Stage.FINALIZATION: "Finalization",
}


def _efficiency(job: JobResults) -> Iterator[Fact]:
    """FLOP/s, samples and tokens per second, and the cost, as far as they are known."""
    efficiency, cost = read_efficiency(job), read_cost(job)
    texts = (
        ("rates", "Samples and tokens (median step)", efficiency.rates_text),
        ("flops", "Achieved FLOP/s", efficiency.text),
        ("cost", "Cost", cost_text(cost)),
    )
    for name, title, text in texts:
        if text:
            yield Fact(name=name, title=title, value=text)


def _seconds(name: str, title: str, value: Cell) -> Fact:
    return Fact(name=name, title=title, value=value, unit="seconds")


def _instant(name: str, title: str, instant_ns: int | None) -> Fact:
    value = None if instant_ns is None else iso(instant_ns)
    return Fact(name=name, title=title, value=value, unit="time")


def _sentence(status: dict[str, Cell]) -> str:
    start, seconds = status["start_time"], status["duration_seconds"]
    if not isinstance(start, str) or not isinstance(seconds, float):
        return ""
    ran = "has been running for" if status["end_time"] is None else "ran for"
    return f"The job started on {format_local_time(start)} and {ran} {format_duration(seconds)}."
