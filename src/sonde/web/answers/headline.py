"""The headline of a job, its most important charts, and the charts that show each finding."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sonde.charts import Chart, charts_for_rule, key_charts
from sonde.read.findings import read_evaluations
from sonde.results.advice import remedy_text
from sonde.results.headline import headline
from sonde.store import layout
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.answers.charts import loaded_charts
from sonde.web.live_updates import findings_document
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply

_HEADLINE_SECONDS = 2.0  # how long the headline of a running job is reused
_CHARTS_SECONDS = 30.0  # how long the choice of charts is reused
_KEY_CHARTS = 3


class HeadlineEndpoints(EndpointGroup):
    """`headline`: progress, throughput, loss, utilization, lost time, cost; and key charts."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/headline", _headline, is_cached=False),)


def _headline(query: Query) -> Reply:
    job = query.job
    rule_files = tuple(job.backend.entries(layout.RULES_FOLDER))
    kinds = loaded_charts()
    pages = _pages(query)
    illustrations = {
        rule: charts_for_rule(kinds, rule, page["needs"] if page else ())
        for rule, page in pages.items()
    }
    metrics = {rule: page["metrics"] if page else [] for rule, page in pages.items()}
    candidates = key_charts(kinds, illustrations.values())
    figures = job.cached(("headline", rule_files), _HEADLINE_SECONDS, lambda: _figures(query))
    charts = job.cached(
        ("key charts", tuple(candidates)),
        _CHARTS_SECONDS,
        lambda: _with_data(query, dict(kinds), candidates),
    )
    return json_reply(
        {
            "figures": figures,
            "charts": charts,
            "illustrations": illustrations,
            "metrics": metrics,
            "remedies": _remedies(query),
        }
    )


def _figures(query: Query) -> list[dict[str, Any]]:
    with query.job.results() as results:
        return [asdict(figure) for figure in headline(results)]


def _remedies(query: Query) -> dict[str, list[dict[str, str]]]:
    """The remedies of each finding that has any, the best first."""
    with query.job.episodes() as reader:
        evaluations = read_evaluations(query.job.backend, [], reader)
    improvements = {
        episode.id: episode.finding.improvement
        for evaluation in evaluations
        for episode in evaluation.episodes
    }
    return {
        name: [
            {"text": remedy_text(remedy), "code": remedy.code} for remedy in improvement.remedies
        ]
        for name, improvement in improvements.items()
        if improvement is not None
    }


def _pages(query: Query) -> dict[str, Mapping[str, Any] | None]:
    """The documentation of each rule with findings, the most important finding first."""
    findings = findings_document(query.job)["findings"]
    page_of = query.library.rule_page
    return {rule: page_of(rule) for rule in dict.fromkeys(item["rule"] for item in findings)}


def _with_data(
    query: Query, kinds: Mapping[str, type[Chart]], candidates: Sequence[str]
) -> list[str]:
    """The first charts that have data."""
    found: list[str] = []
    for name in candidates:
        if len(found) == _KEY_CHARTS:
            break
        with query.job.results() as results:
            if kinds[name]().build(results) is not None:
                found.append(name)
    return found
