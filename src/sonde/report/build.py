"""Puts a report together: asks every chart once, and lays out what came back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sonde import __version__
from sonde.charts import CHARTS
from sonde.drawing.figures import figures
from sonde.drawing.html import Element, element
from sonde.drawing.page import whole_page
from sonde.formats import format_local_time
from sonde.guard import Guard
from sonde.records.chart import Spec
from sonde.report.documents import report_document, rule_documents
from sonde.report.findings import death, finding_cards
from sonde.report.sections import SECTIONS, Filled, charts_by_section, fill
from sonde.report.sentences import in_short, opening
from sonde.report.size_limit import trimmed
from sonde.results.coverage import not_seen
from sonde.results.job import JobResults

MOST_BYTES = 3_000_000

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Report:
    """A page, and the same as data."""

    html: str
    document: dict[str, Any]
    rules: dict[str, dict[str, Any]]  # as the old service wrote them, by their names


def chart_count() -> int:
    """How many charts a report asks, for a progress bar."""
    return sum(map(len, charts_by_section().values()))


def build_report(job: JobResults, now: str, advance: Advance = lambda _count: None) -> Report:
    """The report of a job as it stands.

    Args:
        job: The job.
        now: The present instant, in ISO format.
        advance: Told how many charts more are done.
    """
    guard = Guard()
    specs = _specs(job, guard, advance)
    judged = job.judgement()
    status = {**job.summary, "rules": judged.documents()}
    findings = judged.findings.documents()
    fired = [one.rule for one in judged.evaluations if one.episodes]
    filled = [fill(section, specs, fired) for section in SECTIONS]
    page = _Page(status, findings, now, guard.failed)
    html = trimmed(lambda kept: page.html(filled, specs, kept), specs, MOST_BYTES)
    document = report_document(status, findings, specs, now)
    document["failed"] = dict(guard.failed)
    return Report(html, document, rule_documents(status["rules"]))


def _specs(job: JobResults, guard: Guard, advance: Advance) -> dict[str, Spec]:
    """All charts that have something to show; one that fails is left out, and that is said."""
    specs: dict[str, Spec] = {}
    for names in charts_by_section().values():
        for name in names:
            chart = CHARTS.load(name)()
            spec = guard.call(name, partial(chart.build, job), None)
            if spec is not None:
                specs[name] = spec
            advance(1)
    return specs


@dataclass(frozen=True)
class _Page:
    """Everything about a job but its charts."""

    status: Mapping[str, Any]
    findings: list[dict[str, Any]]
    now: str
    failed: Mapping[str, str]  # charts, and why

    def html(self, filled: list[Filled], specs: Mapping[str, Spec], kept: set[str] | None) -> str:
        """The page; of the charts that are not kept, only the static picture."""
        shown = [one for one in filled if not one.is_empty]
        verdict = self._verdict(in_short(specs))
        cards = [_card(one, kept) for one in shown]
        links = [element("a", "Verdict", href="#verdict")]
        links += [element("a", one.section.title, href=f"#{one.section.name}") for one in shown]
        state = str(self.status["state"])
        top = element(
            "header",
            element("div", "Sonde report", class_="crumb"),
            element(
                "h1",
                str(self.status["job"]),
                element("span", state, class_=f"state {state}"),
            ),
            element("nav", *links, aria_label="Sections"),
            class_="top",
        )
        said = f"Written by Sonde {__version__} on {format_local_time(self.now)}."
        if kept is not None:
            said += " To keep the page small, some pictures are static only."
        said += "".join(f" {name} could not be drawn: {why}." for name, why in self.failed.items())
        body = element("body", top, element("main", verdict, *cards), element("footer", said))
        return whole_page(body, f"{self.status['job']}: Sonde report")

    def _verdict(self, sentences: list[str]) -> Element:
        return element(
            "section",
            element("h2", "Verdict"),
            element("p", line, class_="unseen")
            if (line := not_seen(self.status["seen"]))
            else None,
            element("p", opening(self.status, self.findings), class_="lead"),
            death(self.status),
            element("ul", *(element("li", one) for one in sentences), class_="short")
            if sentences
            else None,
            *finding_cards(self.findings),
            class_="card",
            id="verdict",
        )


def _card(one: Filled, kept: set[str] | None) -> Element:
    return element("section", *_inside(one, kept, "h2"), class_="card", id=one.section.name)


def _untold(charts: Mapping[str, Spec], told: str) -> dict[str, Spec]:
    return {
        name: replace(spec, note="") if told and spec.note == told else spec
        for name, spec in charts.items()
    }


def _inside(one: Filled, kept: set[str] | None, tag: str) -> list[Element]:
    told = one.sentence if one.is_folded else ""  # in its line; not again inside
    heading = one.section.title
    drawn = [
        figure
        for name, spec in _untold(one.charts, told).items()
        for figure in figures(name, spec, has_data=kept is None or name in kept, heading=heading)
    ]
    title = element(tag, heading)
    if one.is_folded and not one.parts:
        line = element("span", one.sentence)
        return [element("details", element("summary", title, line), *drawn, class_="fold")]
    parts = [
        element("div", *_inside(part, kept, "h3"), class_=None if part.is_folded else "part")
        for part in one.parts
        if not part.is_empty
    ]
    return [title, *drawn, *parts]
