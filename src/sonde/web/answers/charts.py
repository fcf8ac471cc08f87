"""Charts as data, the same as in the report."""

from collections.abc import Sequence
from inspect import getdoc
from typing import Any

from sonde.charts import CHARTS, Chart
from sonde.store import layout
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply
from sonde.web.shared_job import SharedJob

_CHART_SECONDS = 2.0  # how long a chart of a running job is reused


class Charts(EndpointGroup):
    """`charts`: the list of charts, and each chart by name."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (
            Endpoint("/jobs/{job}/charts", _charts),
            Endpoint("/jobs/{job}/charts/{chart}", _chart, is_cached=False),
        )


def _charts(query: Query) -> Reply:
    del query
    kinds = {name: CHARTS.load(name) for name in CHARTS.names()}
    return json_reply(
        [
            {
                "name": name,
                "title": kind.title,
                "question": (getdoc(kind) or "").partition("\n")[0],
                "pages": list(kind.pages),
                "section": kind.section,
                "takes_node": kind.takes_node,
                "takes_worker": kind.takes_worker,
            }
            for name, kind in kinds.items()
        ]
    )


def _chart(query: Query) -> Reply:
    kind = CHARTS.load(query.path["chart"])
    node = query.node if kind.takes_node and query.text("node") else None
    worker = query.worker if kind.takes_worker and query.text("worker") else None
    name, job = query.path["chart"], query.job
    # after a job has ended, its findings can still change: rules may be run again
    rule_files = tuple(job.backend.entries(layout.RULES_FOLDER))
    document = job.cached(
        ("chart", name, node, worker, rule_files),
        _CHART_SECONDS,
        lambda: _document(job, kind(node=node, worker=worker)),
    )
    return json_reply({"name": name, "title": kind.title, "spec": document})


def _document(job: SharedJob, chart: Chart) -> dict[str, Any] | None:
    with job.results() as results:
        spec = chart.build(results)
    return None if spec is None else spec.document()
