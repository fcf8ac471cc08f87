"""What rules found, each with its evidence and what to do about it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sonde.drawing.html import Element, element, prose
from sonde.formats import format_local_time
from sonde.report.sentences import evidence_text

_MOST = 60


def finding_cards(findings: Sequence[Mapping[str, Any]]) -> list[Element]:
    """The findings, causes before what they explain."""
    known = {one["id"]: one for one in findings}
    cards = [_card(one, known) for one in findings[:_MOST]]
    left = len(findings) - _MOST
    if left > 0:
        cards.append(element("p", f"{left:,} more are in report.json.", class_="coarse"))
    return cards


def death(status: Mapping[str, Any]) -> Element | None:
    """Why the job died, with its traceback."""
    exit_ = status["exit"]
    if not exit_ or status["state"] != "failed" or not exit_["traceback"]:
        return None
    who = "" if exit_["worker"] is None else f" of worker {exit_['worker']}"
    return element(
        "details",
        element("summary", f"Traceback{who}"),
        element("pre", exit_["traceback"]),
        open=True,
    )


def _card(one: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> Element:
    evidence = [
        element("li", evidence_text(name, value))
        for name, value in one["evidence"].items()
        if value is not None  # recorded by a version that kept what was not measured
    ]
    cause = known.get(one["cause"] or "")
    return element(
        "article",
        element(
            "h3",
            element("span", one["severity"], class_=f"severity {one['severity']}"),
            f" {one['rule']}",
        ),
        element("p", *prose(one["message"])),
        element("p", _where(one), class_="quiet"),
        element("p", f"Follows from {cause['rule']}.", class_="quiet") if cause else None,
        element("p", element("b", "What to do: "), *prose(one["advice"]))
        if one["advice"]
        else None,
        element(
            "details", element("summary", "Evidence"), element("ul", *evidence, class_="evidence")
        )
        if evidence
        else None,
        class_=f"finding {one['severity']}{' follows' if cause else ''}",
    )


def _where(one: Mapping[str, Any]) -> str:
    parts = [f"{name} {one[name]}" for name in ("node", "worker") if one[name] is not None]
    parts += [str(one[name]) for name in ("device", "tensor") if one[name]]
    if one["step"]:
        first, last = one["step"][0], one["step"][1] or one["step"][0]
        parts.append(f"step {first:,}" if first == last else f"steps {first:,}–{last:,}")
    parts.append(f"from {format_local_time(one['time'][0])}")
    parts.append(one["outcome"])
    return ", ".join(parts)
