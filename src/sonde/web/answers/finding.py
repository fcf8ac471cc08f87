"""One finding beside the rest of its job."""

from collections.abc import Sequence
from typing import Any

from sonde.errors import UsageError
from sonde.read.findings import read_evaluations
from sonde.results.finding_baseline import finding_baseline
from sonde.store import layout
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply

_SECONDS = 5.0  # how long the baseline of a running job is reused


class Finding(EndpointGroup):
    """`finding`: what was different during a finding, and the time lost."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/finding", _finding, is_cached=False),)


def _finding(query: Query) -> Reply:
    rule_files = tuple(query.job.backend.entries(layout.RULES_FOLDER))
    key = ("finding", query.text("id"), rule_files)
    return json_reply(query.job.cached(key, _SECONDS, lambda: _document(query)))


def _document(query: Query) -> dict[str, Any]:
    with query.job.episodes() as reader:
        evaluations = read_evaluations(query.job.backend, [], reader)
    name = query.text("id")
    episodes = (episode for each in evaluations for episode in each.episodes)
    episode = next((each for each in episodes if each.id == name), None)
    if episode is None:
        raise UsageError(f"Job {query.job.name!r} has no finding {name!r}.")
    with query.job.results() as results:
        baseline = finding_baseline(results, episode)
    return {
        "table": baseline.table.document() if baseline.table else None,
        "sentence": baseline.sentence,
        "lost_seconds": baseline.lost_seconds,
    }
