"""Faults that the hook tells of when they begin and when they are over, and which stand between."""

from collections.abc import Iterable, Iterator

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.rules import _trainings
from sonde.rules._rule import Rule, State

_TOLD_EVERY_STEPS = 100
_NAMED = 8


def is_told_again(window: Window) -> bool:
    """Whether what still stands is said once more: now and then, and at the end."""
    return window.is_last or (window.first_step or 0) % _TOLD_EVERY_STEPS == 0


def begin_leg(rule: Rule, window: Window, state: State) -> Iterator[Finding]:
    """Forgets what was before the workers started again; what stood is over until it is seen."""
    if state.get("leg") != window.leg.number:
        stood = list(state.get("told", []))
        _trainings.begin_leg(window, state)
        yield from (rule.recovered(subject) for subject in stood)


def told(state: State, subject: str) -> None:
    """Remembers that a subject has an open episode."""
    if subject not in state.setdefault("told", []):
        state["told"].append(subject)


def over(rule: Rule, state: State, subject: str) -> Iterator[Finding]:
    """Says that it is over, of a subject that has an open episode."""
    if subject in state.get("told", []):
        state["told"].remove(subject)
        yield rule.recovered(subject)


def names_in_words(names: Iterable[str]) -> str:
    """One name, and how many more there are."""
    known = list(names)
    others = len(known) - 1
    return known[0] if others < 1 else f"{known[0]} and {others} more"


def some(names: Iterable[str]) -> list[str]:
    """As many as are worth listing."""
    return list(names)[:_NAMED]
