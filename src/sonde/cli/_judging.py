"""What the commands about rules share: how findings are printed."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from sonde.analyze.verdict import last_words
from sonde.cli._command import say
from sonde.client.findings import Findings, Judgement, where
from sonde.clock import Clock, iso
from sonde.read.findings import episode_document
from sonde.read.jobs import read_job
from sonde.read.status import seen_in
from sonde.read.training import steps_seen
from sonde.records.action import ActionRecord, ActionStatus
from sonde.records.finding import Evaluation, Verdict
from sonde.show.seen import not_seen
from sonde.store.backends import Backend
from sonde.watch.runner import Judge


def judge_of(backend: Backend, clock: Clock) -> Judge:
    """What puts the answers of all rules into a few words, with what was seen of the job."""

    def judge(evaluations: Sequence[Evaluation], *, is_final: bool) -> Verdict:
        now_ns = clock.now_ns()
        facts = read_job(backend, now_ns)
        seen = seen_in(facts, steps_seen(backend, facts), now_ns)
        return last_words(evaluations, is_final=is_final, seen=seen)

    return judge


def print_findings(findings: Findings) -> None:
    """Each with its place and its advice."""
    for line in _lines(findings):
        say(line)


def print_judgement(judgement: Judgement) -> None:
    """The verdict, the findings, and how the rules stand."""
    line = not_seen(asdict(judgement.seen)) if judgement.seen else ""
    if line:
        say(line)
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
