"""The output of `sonde findings` and `sonde check`."""

from collections.abc import Iterator
from dataclasses import asdict

from sonde.clock import iso
from sonde.formats import pluralize
from sonde.read.findings import episode_document
from sonde.records.action import ActionRecord, ActionStatus
from sonde.results.coverage import unrecorded_line
from sonde.results.findings import Findings, Judgement, where


def judgement_lines(judgement: Judgement) -> Iterator[str]:
    """The verdict, the findings, and the status of every rule."""
    if line := unrecorded_line(asdict(judgement.seen)) if judgement.seen else "":
        yield line
    yield f"{judgement.job}: {judgement.verdict}"
    if len(judgement.findings):
        yield ""
        yield from finding_lines(judgement.findings)
    yield ""
    yield from judgement.standings.splitlines()


def finding_lines(findings: Findings) -> Iterator[str]:
    """Each finding with its location, recommendation and triggered actions."""
    rules = {episode.id: episode.finding.rule for episode in findings}
    for episode in findings:
        context = "; ".join(filter(None, (where(episode), episode_document(episode)["outcome"])))
        yield f"{episode.severity.value}  {episode.finding.rule} ({context})"
        yield f"  {episode.finding.message}"
        if episode.finding.cause in rules:
            yield f"  Caused by {rules[episode.finding.cause]} (see above)."
        if episode.finding.advice:
            yield f"  What to do: {episode.finding.advice}"
        yield from (
            f"  {_action_text(done)}" for done in findings.actions if done.episode == episode.id
        )


def _action_text(action: ActionRecord) -> str:
    """The result of an action."""
    detail = f": {action.message}" if action.message else ""
    attempts = pluralize(action.attempts, "attempt")
    texts = {
        ActionStatus.DONE: f"Action {action.action}, {iso(action.time_ns)}{detail}",
        ActionStatus.WAITING: f"Action {action.action}: retrying{detail}",
        ActionStatus.FAILED: f"Action {action.action}: failed after {attempts}{detail}",
        ActionStatus.REFUSED: f"Action {action.action}: not run{detail}",
        ActionStatus.HELD_BACK: f"Action {action.action}: on hold{detail}",
    }
    return texts[action.status]
