"""Data that was not recorded, and why."""

from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.formats import pluralize
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.records.notice import notice_label
from sonde.results.job import JobResults

_MAX_ROWS = 50


class Lost(Chart):
    """Lost and damaged data, metrics that were not collected, and notices."""

    title = "Missing data and notices"
    overview = OverviewPlace(OverviewSection.RECORDING, order=2, size=ChartSize.WIDE)
    section = "environment"
    order = 4

    def build(self, job: JobResults) -> Spec | None:
        status = job.summary
        rows: list[tuple[Cell, ...]] = [
            ("lost", each["what"], each["reason"], each["from"], each["to"])
            for each in status["lost"]
        ]
        rows += [
            ("not collected", notice_label(each["what"]), each["reason"], None, None)
            for each in status["not_collected"]
        ]
        rows += [
            (notice["kind"], notice["what"], notice["text"], notice["time"], None)
            for notice in status["notices"]
        ]
        if not rows:
            return None
        lost = len(status["lost"])
        return Table(
            title=self.title,
            note=f"{pluralize(lost, 'gap')} in the recording." if lost else "",
            columns=(
                Column(name="kind", title="Kind", is_number=False),
                Column(name="what", title="Subject", is_number=False),
                Column(name="reason", title="Reason", is_number=False),
                Column(name="from", title="From", unit="time", is_number=False),
                Column(name="to", title="To", unit="time", is_number=False),
            ),
            rows=tuple(rows[:_MAX_ROWS]),
            total=len(rows),
        )
