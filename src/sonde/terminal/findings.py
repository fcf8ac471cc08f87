"""The output of `sonde findings` and `sonde check`."""

from collections.abc import Iterator
from dataclasses import asdict

from rich.text import Text

from sonde.clock import iso
from sonde.formats import pluralize
from sonde.read.findings import episode_document
from sonde.records.action import ActionRecord, ActionStatus
from sonde.results.coverage import unrecorded_line
from sonde.results.findings import Findings, Judgement, where
from sonde.terminal.styles import severity_style


def judgement_lines(judgement: Judgement) -> Iterator[Text]:
    """The verdict, the findings, and the status of every rule."""
    if line := unrecorded_line(asdict(judgement.seen)) if judgement.seen else "":
        yield Text(line, "yellow")
    yield Text(f"{judgement.job}: {judgement.verdict}")
    if len(judgement.findings):
        yield Text()
        yield from finding_lines(judgement.findings)
    yield Text()
    yield from map(Text, judgement.standings.splitlines())


def finding_lines(findings: Findings) -> Iterator[Text]:
    """Each finding with its location, recommendation and triggered actions."""
    rules = {episode.id: episode.finding.rule for episode in findings}
    for episode in findings:
        context = "; ".join(filter(None, (where(episode), episode_document(episode)["outcome"])))
        severity = episode.severity.value
        head = Text.assemble((severity, severity_style(severity)), "  ")
        yield head.append(episode.finding.rule, "bold").append(f" ({context})")
        yield Text(f"  {episode.finding.message}")
        if episode.finding.cause in rules:
            yield Text(f"  Caused by {rules[episode.finding.cause]} (see above).")
        if episode.finding.advice:
            yield Text(f"  What to do: {episode.finding.advice}")
        yield from (
            Text(f"  {_action_text(done)}")
            for done in findings.actions
            if done.episode == episode.id
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
