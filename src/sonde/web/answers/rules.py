"""How every rule stands with a job, with the page that explains it."""

from collections.abc import Sequence

from sonde.read.actions import read_actions
from sonde.read.findings import evaluation_document, read_evaluations
from sonde.web.answers._answers import Address, Answers
from sonde.web.query_params import Question
from sonde.web.replies import Reply, json_reply


class Rules(Answers):
    """`rules`: evaluations with their findings."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs/{job}/rules", _rules, is_kept=False),)


def _rules(question: Question) -> Reply:
    damages: list[str] = []
    backend = question.job.backend
    actions = read_actions(backend, damages)
    with question.job.episodes() as reader:
        evaluations = read_evaluations(backend, damages, reader)
    page_of = question.library.rule_page
    return json_reply(
        [{**evaluation_document(one, actions), "page": page_of(one.rule)} for one in evaluations]
    )
