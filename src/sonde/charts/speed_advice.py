"""What would make the job faster."""

from collections.abc import Iterator

from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.records.advice import AdviceItem, Remedy
from sonde.records.chart import Cell, Column, Group, Spec, Table, Text
from sonde.results.advice import certainty_text, gain_text
from sonde.results.job import JobResults

_COLUMNS = (
    Column(name="problem", title="Problem", is_number=False),
    Column(name="remedy", title="Remedy", is_number=False),
    Column(name="gain", title="Expected", is_number=False),
    Column(name="basis", title="Why", is_number=False),
    Column(name="code", title="Code", is_number=False),
    Column(name="places", title="Where", is_number=False),
)


class SpeedAdvice(Chart):
    """What would make the job faster, the largest predicted speed-up first."""

    title = "What would make it faster"
    overview = OverviewPlace(OverviewSection.ADVICE, size=ChartSize.WIDE)
    section = "advice"
    order = 1
    headline = 1

    def build(self, job: JobResults) -> Spec | None:
        if not job.judgement().evaluations:
            return None
        advice = job.advice()
        sentence = advice.sentence.replace("`", "")  # notes are plain text
        if not advice.items:
            return Text(title=self.title, note=sentence, paragraphs=())
        rows = tuple(row for item in advice.items for row in _rows(item))
        table = Table(title="Remedies", columns=_COLUMNS, rows=rows)
        return Group(title=self.title, note=sentence, parts=(table,))


def _rows(item: AdviceItem) -> Iterator[tuple[Cell, ...]]:
    for index, remedy in enumerate(item.remedies):
        first = (item.message, ", ".join(item.places)) if index == 0 else ("", "")
        yield (first[0], *_cells(remedy), first[1])


def _cells(remedy: Remedy) -> tuple[str, str, str, str]:
    gain = remedy.gain
    predicted = (gain_text(gain), certainty_text(gain)) if gain else ("", "")
    return (remedy.title, *predicted, remedy.code)
