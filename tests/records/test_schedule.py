"""Schedules: at which steps something is recorded."""

from hypothesis import given
from hypothesis import strategies as st

from sonde.records.schedule import Schedule

STEPS = range(200)


@given(st.integers(1, 50), st.integers(0, 150), st.none() | st.integers(1, 250))
def test_every_n_steps_between_start_and_end_are_due(
    every: int, start: int, end: int | None
) -> None:
    schedule = Schedule(every, start, end)
    expected = [*range(start, 200 if end is None else min(200, end), every)]
    assert [step for step in STEPS if schedule.is_due(step)] == expected


@given(st.frozensets(st.integers(0, 199)))
def test_only_listed_steps_are_due(steps: frozenset[int]) -> None:
    schedule = Schedule(steps=steps)
    assert {step for step in STEPS if schedule.is_due(step)} == steps


def test_nothing_is_due_outside_of_any_step() -> None:
    assert not Schedule().is_due(-1)
