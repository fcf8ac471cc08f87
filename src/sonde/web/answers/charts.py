"""Charts as data: the same that stand in the report."""

from collections.abc import Sequence
from inspect import getdoc
from typing import Any

from sonde.charts import CHARTS, Chart
from sonde.store import layout
from sonde.web.answers._answers import Address, Answers
from sonde.web.query_params import Question
from sonde.web.replies import Reply, json_reply
from sonde.web.shared_job import SharedJob

_CHART_SECONDS = 2.0  # so old a chart of a job that runs may be


class Charts(Answers):
    """`charts`: which there are, and each by its name."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (
            Address("/jobs/{job}/charts", _charts),
            Address("/jobs/{job}/charts/{chart}", _chart, is_kept=False),
        )


def _charts(question: Question) -> Reply:
    del question
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


def _chart(question: Question) -> Reply:
    kind = CHARTS.load(question.path["chart"])
    node = question.node if kind.takes_node and question.text("node") else None
    worker = question.worker if kind.takes_worker and question.text("worker") else None
    name, job = question.path["chart"], question.job
    # of a job that is over only what rules say of it can change: they may be asked again
    judged = tuple(job.backend.entries(layout.RULES_FOLDER))
    document = job.cached(
        ("chart", name, node, worker, judged),
        _CHART_SECONDS,
        lambda: _document(job, kind(node=node, worker=worker)),
    )
    return json_reply({"name": name, "title": kind.title, "spec": document})


def _document(job: SharedJob, chart: Chart) -> dict[str, Any] | None:
    with job.results() as results:
        spec = chart.build(results)
    return None if spec is None else spec.document()
