"""Check the types of arguments of queries: a wrong one is an error of one line."""

from collections.abc import Iterable, Sequence

from sonde.errors import UsageError
from sonde.records.ranges import StepRange


def checked_step(step: object, name: str = "step") -> int:
    """A step number."""
    if isinstance(step, bool) or not hasattr(step, "__index__"):
        raise UsageError(f"{name} = {step!r} must be an integer.")
    return int(step.__index__())


def checked_steps(steps: object, name: str = "steps") -> StepRange:
    """A range of steps from a pair."""
    if isinstance(steps, Sequence) and not isinstance(steps, str) and len(steps) == 2:
        first, end = (None if step is None else checked_step(step, name) for step in steps)
        return StepRange(first, end)
    example = f"{steps}, {steps + 1}" if isinstance(steps, int) else "9, 11"
    raise UsageError(
        f"{name} = {steps!r} must be a pair: the first step and the step to stop before, such as "
        f"{name}=({example})."
    )


def checked_shares(shares: object, name: str) -> tuple[float, ...]:
    """Several numbers from 0 to 1."""
    values = list(shares) if isinstance(shares, Iterable) and not isinstance(shares, str) else []
    if not values or not all(isinstance(value, int | float) for value in values):
        example = f"[{shares}]" if isinstance(shares, int | float) else "[0.05, 0.95]"
        raise UsageError(f"{name} = {shares!r} must be a list of numbers, such as {example}.")
    if not all(0 <= value <= 1 for value in values):
        raise UsageError(f"{name} = {values!r} must be between 0 and 1.")
    return tuple(map(float, values))


def checked_name(name: object, noun: str) -> str:
    """A name or a pattern."""
    if not isinstance(name, str):
        raise UsageError(f"{noun} {name!r} must be a string in quotes.")
    return name
