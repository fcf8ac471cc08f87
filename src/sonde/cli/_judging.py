"""What the commands about rules share: how findings are printed."""

from collections.abc import Iterator

from sonde.cli._command import say
from sonde.client.findings import Findings, Judgement, where
from sonde.clock import iso
from sonde.records.action import ActionRecord, ActionStatus


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
        yield from (f"  {_followed(done)}" for done in findings.actions if done.episode == one.id)


def _followed(action: ActionRecord) -> str:
    """What an action came to, in a few words."""
    said = f": {action.message}" if action.message else ""
    words = {
        ActionStatus.DONE: f"Action {action.action}, {iso(action.time_ns)}{said}",
        ActionStatus.WAITING: f"Action {action.action} has not worked yet{said}",
        ActionStatus.FAILED: f"Action {action.action} failed, attempts: {action.attempts}{said}",
        ActionStatus.REFUSED: f"Action {action.action} was not taken{said}",
        ActionStatus.HELD_BACK: f"Action {action.action} is held back{said}",
    }
    return words[action.status]
