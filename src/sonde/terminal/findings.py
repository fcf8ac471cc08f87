"""Findings as text."""

from collections.abc import Iterator
from dataclasses import asdict

from sonde.clock import iso
from sonde.read.findings import episode_document
from sonde.records.action import ActionRecord, ActionStatus
from sonde.results.coverage import not_seen
from sonde.results.findings import Findings, Judgement, where


def judgement_lines(judgement: Judgement) -> Iterator[str]:
    """The verdict, the findings, and the status of every rule."""
    if line := not_seen(asdict(judgement.seen)) if judgement.seen else "":
        yield line
    yield f"{judgement.job}: {judgement.verdict}"
    if len(judgement.findings):
        yield ""
        yield from finding_lines(judgement.findings)
    yield ""
    yield from judgement.standings.splitlines()


def finding_lines(findings: Findings) -> Iterator[str]:
    """Each finding with its place, its advice and the actions it caused."""
    rules = {one.id: one.finding.rule for one in findings}
    for one in findings:
        said = "; ".join(filter(None, (where(one), episode_document(one)["outcome"])))
        yield f"{one.severity.value}  {one.finding.rule} ({said})"
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
