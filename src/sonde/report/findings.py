"""Findings as cards with evidence and advice."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sonde.drawing.figures import figures
from sonde.drawing.html import Element, element, prose
from sonde.formats import format_duration, format_local_time, pluralize
from sonde.report.evidence import evidence_lines
from sonde.results.failure_details import failing_line_text, last_output, marked_traceback
from sonde.results.finding_baseline import FindingBaseline

_MAX_CARDS = 60


def finding_cards(
    findings: Sequence[Mapping[str, Any]], baselines: Mapping[str, FindingBaseline] | None = None
) -> list[Element]:
    """One card per finding, causes before their consequences; `baselines` are by finding."""
    known = baselines or {}
    by_id = {finding["id"]: finding for finding in findings}
    cards = [_card(finding, by_id, known.get(finding["id"])) for finding in findings[:_MAX_CARDS]]
    remaining = len(findings) - _MAX_CARDS
    if remaining > 0:
        text = f"{pluralize(remaining, 'more finding')} in report.json."
        cards.append(element("p", text, class_="coarse"))
    return cards


def failure_details(status: Mapping[str, Any]) -> list[Element]:
    """How a job died: the failing line, the traceback with that line marked, the last output."""
    exit_ = status["exit"]
    if not exit_ or status["state"] == "completed":
        return []
    details = []
    if where := failing_line_text(exit_):
        code = element("code", exit_["failed_at"]["code"], class_="failing")
        details.append(element("p", element("b", "Failed at "), f"{where} ", code))
    if trace := marked_traceback(exit_):
        worker = "" if exit_["worker"] is None else f" of worker {exit_['worker']}"
        lines = [
            element("b", f"{text}\n", class_="failing") if is_failing else f"{text}\n"
            for text, is_failing in trace
        ]
        pre = element("pre", *lines)
        details.append(element("details", element("summary", f"Traceback{worker}"), pre, open=True))
    for stream, tail in last_output(status).items():
        summary = element("summary", f"Last lines of {stream}")
        details.append(element("details", summary, element("pre", "\n".join(tail)), open=True))
    return details


def _card(
    finding: Mapping[str, Any],
    by_id: Mapping[str, Mapping[str, Any]],
    baseline: FindingBaseline | None,
) -> Element:
    evidence = [
        element("li", line)
        for line in evidence_lines(
            # earlier versions recorded null for unknown values
            {name: value for name, value in finding["evidence"].items() if value is not None}
        )
    ]
    cause = by_id.get(finding["cause"] or "")
    return element(
        "article",
        element(
            "h3",
            element("span", finding["severity"], class_=f"severity {finding['severity']}"),
            f" {finding['rule']}",
        ),
        element("p", *prose(finding["message"])),
        element("p", _where(finding), class_="quiet"),
        element("p", f"Caused by {cause['rule']}.", class_="quiet") if cause else None,
        *(_comparison(finding["id"], baseline) if baseline else ()),
        element("p", element("b", "What to do: "), *prose(finding["advice"]))
        if finding["advice"]
        else None,
        element(
            "details", element("summary", "Evidence"), element("ul", *evidence, class_="evidence")
        )
        if evidence
        else None,
        class_=f"finding {finding['severity']}{' follows' if cause else ''}",
    )


def _comparison(name: str, baseline: FindingBaseline) -> Iterator[Element]:
    """What was different during the finding, how sure that is, and the time lost."""
    if baseline.sentence:
        yield element("p", baseline.sentence)
    if baseline.lost_seconds is not None:
        yield element("p", f"Time lost in longer steps: {format_duration(baseline.lost_seconds)}.")
    if baseline.table is not None:
        title = baseline.table.title
        drawn = figures(f"baseline/{name}", baseline.table, heading=title)
        yield element("details", element("summary", title), *drawn)


def _where(finding: Mapping[str, Any]) -> str:
    labels = [f"{name} {finding[name]}" for name in ("node", "worker") if finding[name] is not None]
    labels += [str(finding[name]) for name in ("device", "tensor") if finding[name]]
    if finding["step"]:
        first, last = finding["step"][0], finding["step"][1] or finding["step"][0]
        labels.append(f"step {first:,}" if first == last else f"steps {first:,}–{last:,}")
    labels.append(f"from {format_local_time(finding['time'][0])}")
    labels.append(finding["outcome"])
    return ", ".join(labels)
