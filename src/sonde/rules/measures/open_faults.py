"""Open episodes of faults for which the hook reports the beginning and the end."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.rules._rule import Rule, State
from sonde.rules.measures import training_kind

_MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Calibration:
    """How often an open finding is repeated.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    repeat_steps: int = 100


LIMITS = Calibration()


def is_repeat_due(window: Window) -> bool:
    """Whether to report an open finding again: periodically, and at the end."""
    return window.is_last or (window.first_step or 0) % LIMITS.repeat_steps == 0


def begin_attempt(rule: Rule, window: Window, state: State) -> Iterator[Finding]:
    """Clear the state and resolve all open episodes if the workers have restarted."""
    if state.get("attempt") != window.attempt.number:
        open_subjects = list(state.get("told", []))
        training_kind.begin_attempt(window, state)
        yield from (rule.recovered(subject) for subject in open_subjects)


def mark_open(state: State, subject: str) -> None:
    """Store that a subject has an open episode."""
    if subject not in state.setdefault("told", []):
        state["told"].append(subject)


def resolve(rule: Rule, state: State, subject: str) -> Iterator[Finding]:
    """Resolve the episode of a subject if it has an open one."""
    if subject in state.get("told", []):
        state["told"].remove(subject)
        yield rule.recovered(subject)


def summarize_names(names: Iterable[str]) -> str:
    """Return the first name and the number of the others, such as "fc1 and 3 more"."""
    first, *others = names
    return f"{first} and {len(others)} more" if others else first


def first_names(names: Iterable[str]) -> list[str]:
    """Return the names to list in the evidence."""
    return list(names)[:_MAX_LISTED]
