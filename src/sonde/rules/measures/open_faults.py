"""Faults that the hook tells of when they begin and when they are over, and which stand between."""

from collections.abc import Iterable, Iterator

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.rules._rule import Rule, State
from sonde.rules.measures import training_kind

_REPEAT_EVERY_STEPS = 100
_MAX_LISTED = 8


def is_repeat_due(window: Window) -> bool:
    """Whether to report an open finding again: periodically, and at the end."""
    return window.is_last or (window.first_step or 0) % _REPEAT_EVERY_STEPS == 0


def begin_attempt(rule: Rule, window: Window, state: State) -> Iterator[Finding]:
    """Forgets what was before the workers started again; what stood is over until it is seen."""
    if state.get("leg") != window.attempt.number:
        stood = list(state.get("told", []))
        training_kind.begin_attempt(window, state)
        yield from (rule.recovered(subject) for subject in stood)


def mark_open(state: State, subject: str) -> None:
    """Remembers that a subject has an open episode."""
    if subject not in state.setdefault("told", []):
        state["told"].append(subject)


def resolve(rule: Rule, state: State, subject: str) -> Iterator[Finding]:
    """Says that it is over, of a subject that has an open episode."""
    if subject in state.get("told", []):
        state["told"].remove(subject)
        yield rule.recovered(subject)


def summarize_names(names: Iterable[str]) -> str:
    """One name, and how many more there are."""
    listed = list(names)
    remaining_names = len(listed) - 1
    return listed[0] if remaining_names < 1 else f"{listed[0]} and {remaining_names} more"


def first_names(names: Iterable[str]) -> list[str]:
    """As many as are worth listing."""
    return list(names)[:_MAX_LISTED]
