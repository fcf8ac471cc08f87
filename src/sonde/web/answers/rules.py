"""The state of every rule for a job, with the page that documents it."""

from collections.abc import Sequence

from sonde.read.actions import read_actions
from sonde.read.findings import evaluation_document, read_evaluations
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply


class Rules(EndpointGroup):
    """`rules`: evaluations with their findings."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/rules", _rules, is_cached=False),)


def _rules(query: Query) -> Reply:
    damages: list[str] = []
    backend = query.job.backend
    actions = read_actions(backend, damages)
    with query.job.episodes() as reader:
        evaluations = read_evaluations(backend, damages, reader)
    page_of = query.library.rule_page
    return json_reply(
        [
            {**evaluation_document(evaluation, actions), "page": page_of(evaluation.rule)}
            for evaluation in evaluations
        ]
    )
