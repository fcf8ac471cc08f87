"""Charts as data, the same as in the report."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from inspect import getdoc
from typing import Any

from sonde.charts import CHARTS, Chart, OverviewPlace, OverviewSection
from sonde.guard import result_or_reason
from sonde.records.ranges import ANY_STEP, StepRange
from sonde.store import layout
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply
from sonde.web.shared_job import SharedJob

_MAX_STEP = 1 << 53
_CHART_SECONDS = 2.0  # how long a chart of a running job is reused


class Charts(EndpointGroup):
    """`charts`: the list of charts in the order of the Overview page, and each chart by name."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (
            Endpoint("/jobs/{job}/charts", _charts),
            Endpoint("/jobs/{job}/charts/{chart}", _chart, is_cached=False),
        )


@dataclass(frozen=True, slots=True)
class ChartEntry:
    """A chart in the list of charts."""

    name: str
    title: str
    question: str
    overview: OverviewPlace | None
    section: str  # of the report
    takes_node: bool
    takes_worker: bool
    takes_steps: bool


def _charts(query: Query) -> Reply:
    del query
    entries = [_entry(name, kind) for name, kind in loaded_charts()]
    return json_reply([asdict(entry) for entry in sorted(entries, key=_position)])


def loaded_charts() -> list[tuple[str, type[Chart]]]:
    """All charts with their names, except those whose package cannot be imported."""
    kinds = [(name, _loaded(name)) for name in CHARTS.names()]
    return [(name, kind) for name, kind in kinds if kind is not None]


def _loaded(name: str) -> type[Chart] | None:
    return result_or_reason(lambda: CHARTS.load(name), passed=())[0]


def _entry(name: str, kind: type[Chart]) -> ChartEntry:
    return ChartEntry(
        name=name,
        title=kind.title,
        question=(getdoc(kind) or "").partition("\n")[0],
        overview=kind.overview,
        section=kind.section,
        takes_node=kind.takes_node,
        takes_worker=kind.takes_worker,
        takes_steps=kind.takes_steps,
    )


def _position(entry: ChartEntry) -> tuple[int, int, str]:
    """Charts of the Overview page in its order, followed by all others."""
    sections, place = list(OverviewSection), entry.overview
    if place is None:
        return len(sections), 0, entry.name
    return sections.index(place.section), place.order, entry.name


def _chart(query: Query) -> Reply:
    kind = CHARTS.load(query.path["chart"])
    node = query.node if kind.takes_node and query.text("node") else None
    worker = query.worker if kind.takes_worker and query.text("worker") else None
    steps = _steps(query) if kind.takes_steps else ANY_STEP
    name, job = query.path["chart"], query.job
    # after a job has ended, its findings can still change: rules may be run again
    rule_files = tuple(job.backend.entries(layout.RULES_FOLDER))
    document = job.cached(
        ("chart", name, node, worker, steps, rule_files),
        _CHART_SECONDS,
        lambda: _document(job, kind(node=node, worker=worker, steps=steps)),
    )
    return json_reply({"name": name, "title": kind.title, "spec": document})


def _steps(query: Query) -> StepRange:
    """The range from `start_step` to before `end_step`; all steps by default."""
    bounds = [query.integer(name, -1, 0, _MAX_STEP) for name in ("start_step", "end_step")]
    start, end = (None if bound < 0 else bound for bound in bounds)
    return StepRange(start, end)


def _document(job: SharedJob, chart: Chart) -> dict[str, Any] | None:
    with job.results() as results:
        spec = chart.build(results)
    return None if spec is None else spec.document()
