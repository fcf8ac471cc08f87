"""What the commands about rules share: how findings are printed."""

from collections.abc import Iterator

from sonde.cli._command import say
from sonde.client.findings import Findings, Judgement, where


def print_findings(findings: Findings) -> None:
    """Each with its place and its advice."""
    for line in _lines(findings):
        say(line)


def print_judgement(judgement: Judgement) -> None:
    """The verdict, the findings, and how the rules stand."""
    say(f"{judgement.job}: {judgement.verdict}")
    if len(judgement.findings):
        say("")
        print_findings(judgement.findings)
    say("")
    for line in judgement.standings.splitlines():
        say(line)


def _lines(findings: Findings) -> Iterator[str]:
    rules = {one.id: one.finding.rule for one in findings}
    for one in findings:
        state = "" if one.is_open else ", recovered"
        place = where(one)
        yield f"{one.severity.value}  {one.finding.rule}{f' ({place}{state})' if place else ''}"
        yield f"  {one.finding.message}"
        if one.finding.cause in rules:
            yield f"  Because of {rules[one.finding.cause]}, above."
        if one.finding.advice:
            yield f"  What to do: {one.finding.advice}"
