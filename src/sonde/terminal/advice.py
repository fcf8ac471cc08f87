"""The output of `sonde advise`, and the advice at the end of `sonde run`."""

from collections.abc import Iterator

from sonde.records.advice import Advice, AdviceItem, Remedy
from sonde.records.cost import JobCost
from sonde.records.finding import Verdict
from sonde.results.advice import MIN_SPEEDUP, certainty_text, gain_text, remedy_text
from sonde.results.cost import cost_text

_INDENT = "   "


def advice_lines(advice: Advice, cost: JobCost | None = None) -> Iterator[str]:
    """The answer in one sentence, then each item with its remedies and its certainty.

    Args:
        advice: The answer.
        cost: The cost of the job; None if it is not known.
    """
    yield advice.sentence
    for number, item in enumerate(advice.items, 1):
        yield ""
        yield f"{number}. {item.message} ({item.rule})"
        yield from (f"{_INDENT}{line}" for line in _item_lines(item, cost))
    if advice.items:
        yield ""
        yield "Each prediction is for one change alone; gains of several do not add up."
    shown = [detail for detail in advice.details if detail not in advice.sentence]
    if shown:
        yield ""
        yield from shown


def end_lines(verdict: Verdict, job: str) -> list[str]:
    """The first advice of a finished run; `job` is a reference for commands."""
    advice = verdict.advice
    if advice is None or not advice.items:
        return []
    item = advice.items[0]
    first = verdict.first[0].id if verdict.first else None
    text = advice.sentence
    if first in item.findings:  # the next line has its message
        expected = [remedy_text(remedy) for remedy in item.remedies if remedy.gain is not None]
        text = expected[0] if expected else ""
    return [f"To make it faster: {text} (sonde advise {job})"] if text else []


def _item_lines(item: AdviceItem, cost: JobCost | None) -> Iterator[str]:
    if item.places:
        yield f"Where: {', '.join(item.places)}"
    for remedy in item.remedies:
        yield from _remedy_lines(remedy)
    if cost is not None and item.speedup >= MIN_SPEEDUP:
        yield f"Costs this job so far: {cost_text(cost.share(1 - 1 / item.speedup))}"
    if item.rules:
        yield f"Same cause: {', '.join(item.rules)}"


def _remedy_lines(remedy: Remedy) -> Iterator[str]:
    if remedy.gain is None:
        yield f"- {remedy.title}"
    else:
        yield f"- {remedy.title}: {gain_text(remedy.gain)}"
        yield f"  {certainty_text(remedy.gain)}"
    yield from (f"{_INDENT}  {line}" for line in remedy.code.splitlines())
