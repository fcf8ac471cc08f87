"""Charts as data: the same that stand in the report."""

from collections.abc import Sequence
from inspect import getdoc

from sonde.show.charts import CHARTS
from sonde.show.web.answers._answers import Address, Answers
from sonde.show.web.question import Question
from sonde.show.web.replies import Reply, json_reply


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
    with question.job.view() as view:
        spec = kind(node=node, worker=worker).build(view)
    document = None if spec is None else spec.document()
    return json_reply({"name": question.path["chart"], "title": kind.title, "spec": document})
