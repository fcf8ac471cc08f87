"""Findings in the status and the live view."""

from typing import Any

from sonde.clock import NANOSECONDS
from sonde.terminal.finding_list import short_finding_lines

START = 1_763_200_800  # 2025-11-15T10:00:00Z


def finding(name: str, minute: int = 0, cause: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "rule": name,
        "message": "so",
        "severity": "warning",
        "time": [f"2025-11-15T10:{minute:02}:00Z"] * 2,
        "cause": cause,
        "is_open": True,
        "outcome": "ongoing",
        **more,
    }


def texts(findings: list[dict[str, Any]], max_lines: int, minute: float | None) -> list[str]:
    now_ns = None if minute is None else round((START + 60 * minute) * NANOSECONDS)
    return [line.plain[9:] for line in short_finding_lines(findings, max_lines, now_ns)]


def test_consequences_are_below_their_cause() -> None:
    lines = texts([finding("A"), finding("B", cause="A"), finding("C", cause="gone")], 5, None)
    assert lines == [
        "warning A: so (ongoing)",
        "└ warning B: so (ongoing)",
        "warning C: so (ongoing)",
    ]


def test_new_findings_are_marked_for_half_a_minute() -> None:
    findings = [finding("A", minute=0), finding("B", minute=10)]
    assert texts(findings, 5, 10.25)[1] == "new warning B: so (ongoing)"
    assert texts(findings, 5, 10.25)[0] == "warning A: so (ongoing)"
    assert texts(findings, 5, 10.75)[1] == "warning B: so (ongoing)"
    assert texts(findings, 5, None)[1] == "warning B: so (ongoing)"


def test_a_new_finding_is_shown_even_if_there_are_more_important_ones() -> None:
    findings = [*(finding(f"F{number}") for number in range(8)), finding("Late", minute=10)]
    lines = texts(findings, 3, 10.1)
    assert [line.split(":")[0] for line in lines[:3]] == [
        "warning F0",
        "warning F1",
        "new warning Late",
    ]
    assert len(lines) == 4
    assert "Late" not in "".join(texts(findings, 3, None))
