"""The budget: expensive measurements run less often, and overhead stays within limits."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.hook.budget import Budget, Measurement, Price


def measured_steps(budget: Budget, inline: float, background: float, steps: int) -> list[int]:
    """Return the steps with a measurement of this cost; each step takes one second."""
    measurement = Measurement()
    measured = []
    for step in range(steps):
        hook_seconds = 0.0
        if budget.has_room_for(measurement):
            measured.append(step)
            budget.begin(measurement, step)
            measurement.inline.learn(inline)
            measurement.background.learn(background)
            budget.charge_thread(background)
            hook_seconds = inline
        budget.add_step(1.0, hook_seconds)
    return measured


def test_cheap_measurement_runs_at_every_step() -> None:
    assert measured_steps(Budget(1.0), inline=0.0035, background=0.0014, steps=50) == list(
        range(50)
    )


def test_measurement_of_ten_times_the_budget_runs_at_every_tenth_step_or_less_often() -> None:
    measured = measured_steps(Budget(1.0), inline=0.1, background=0.0, steps=1000)

    assert 66 <= len(measured) <= 72


def test_measurement_that_is_expensive_in_the_thread_waits() -> None:
    measured = measured_steps(Budget(1.0), inline=0.0, background=0.1, steps=1000)

    assert 26 <= len(measured) <= 30


def test_measurement_above_the_savings_limit_still_runs_as_rarely_as_needed() -> None:
    assert 12 <= len(measured_steps(Budget(1.0), inline=1.0, background=0.0, steps=2000)) <= 16


def test_close_inspection_above_the_savings_limit_is_repeated() -> None:
    budget, price = Budget(1.0), Price(1.0)
    inspections = 0
    for _ in range(2000):
        if budget.has_room_for_close_inspection(price):
            inspections += 1
            budget.charge_close_inspection(1.0)
        budget.add_step(1.0, 0.0)

    assert 4 <= inspections <= 6


def test_first_measurement_runs_because_its_cost_is_unknown() -> None:
    assert measured_steps(Budget(0.001), inline=10.0, background=10.0, steps=5) == [0]


def test_interval_between_measurements_is_tracked() -> None:
    budget, measurement = Budget(1.0), Measurement()
    for step in (0, 7, 21):
        budget.begin(measurement, step)

    assert measurement.interval == 14


def test_gradient_norms_use_up_to_half_of_the_budget() -> None:
    budget, norm = Budget(1.0), Measurement()
    norm.inline.learn(0.01)
    norms = 0
    for _ in range(100):
        hook_seconds = 0.0
        if budget.has_room_for_norm(norm):
            norms += 1
            budget.charge_norm(0.01)
            hook_seconds = 0.01
        budget.add_step(1.0, hook_seconds)

    assert 31 <= norms <= 36
    assert budget.inline.saved_seconds > 0.1


@given(
    st.floats(0.1, 10.0),
    st.floats(1e-5, 0.5),
    st.floats(1e-5, 0.5),
)
def test_long_run_overhead_stays_within_the_budget_at_any_cost(
    percent: float, inline: float, background: float
) -> None:
    budget = Budget(percent)

    measured_steps(budget, inline, background, 2000)

    allowed = 0.7 * percent / 100 * 2000
    assert budget.hook_seconds <= allowed + 2 * inline
    assert budget.thread_seconds <= 0.4 * allowed + 2 * background


def test_initial_credit_is_the_same_in_the_thread_and_in_the_step() -> None:
    budget = Budget(1.0)

    budget.charge_thread(0.19)
    is_allowed = budget.has_credit
    budget.charge_thread(0.02)

    assert (is_allowed, budget.has_credit) == (True, False)


def test_every_step_is_recorded_until_the_hooks_have_cost_60_ms() -> None:
    budget = Budget(1.0)

    budget.add_step(training_seconds=1.0, hook_seconds=0.059)
    was_recorded = budget.records_every_step
    budget.add_step(training_seconds=0.01, hook_seconds=0.002)

    assert (was_recorded, budget.records_every_step) == (True, False)
    assert budget.inline.saved_seconds == 0.0  # so inspections can start immediately
    assert budget.hook_seconds == pytest.approx(0.061)


def test_every_step_is_recorded_for_up_to_three_seconds() -> None:
    budget = Budget(1.0)

    budget.add_step(training_seconds=3.1, hook_seconds=0.001)

    assert not budget.records_every_step


def test_most_debt_of_early_inspections_is_forgiven() -> None:
    budget = Budget(1.0)

    budget.add_step(training_seconds=1.0, hook_seconds=0.061)
    budget.add_step(training_seconds=1.9, hook_seconds=0.3)
    owed = -budget.inline.saved_seconds
    budget.add_step(training_seconds=0.2, hook_seconds=0.0)

    assert 0.09 < owed < 0.12
    assert -budget.inline.saved_seconds == pytest.approx(0.02)


def test_calls_outside_of_training_are_recorded_until_they_cost_too_much() -> None:
    budget = Budget(1.0)
    overdrawn = []

    for calls in (240, 0, 40):
        for _ in range(calls):
            budget.charge_outside_call(0.001)
        overdrawn.append(budget.is_overdrawn)
        budget.add_step(training_seconds=2.0, hook_seconds=0.0)

    assert overdrawn == [False, False, True]


def test_calls_outside_of_training_are_recorded_again_within_budget() -> None:
    budget = Budget(1.0)
    budget.add_step(training_seconds=4.0, hook_seconds=0.0)
    for _ in range(260):
        budget.charge_outside_call(0.001)
    was_overdrawn = budget.is_overdrawn

    budget.add_step(training_seconds=20.0, hook_seconds=0.0)

    assert (was_overdrawn, budget.is_overdrawn) == (True, False)


def test_evaluation_that_interrupts_a_rest_is_charged_like_an_inspection() -> None:
    budget = Budget(1.0)
    budget.learn_inspection_cost(0.010, timed_seconds=0.010)
    price = 0.3 * 0.010
    for _ in range(201):
        budget.charge_outside_call(0.0)

    budget.charge_interruption(0.001)

    assert budget.hook_seconds == pytest.approx(price - 0.001)
    assert budget.outside.saved_seconds == pytest.approx(-price)


def test_counting_steps_leaves_budget_for_inspections() -> None:
    budget = Budget(1.0)

    budget.add_counted_steps(training_seconds=10.0, hook_seconds=0.3)

    assert budget.hook_seconds == 0.3
    assert budget.inline.saved_seconds == pytest.approx(0.4 * 0.007 * 10.0)


def test_inspection_waits_until_the_budget_covers_recent_costs() -> None:
    budget = Budget(1.0)
    budget.learn_inspection(0.010)
    price = 0.3 * 0.010

    steps = budget.steps_until_inspection(0.001)
    before = budget.has_room_for_inspection
    budget.add_step(training_seconds=steps * 0.001, hook_seconds=0.0)

    assert steps == ceil(price / (0.007 * 0.001))
    assert (before, budget.has_room_for_inspection) == (False, True)


def test_costs_that_do_not_recur_are_reported_but_postpone_nothing() -> None:
    budget = Budget(1.0)
    for _ in range(10):
        budget.add_step(1.0, 0.0)
    saved = budget.inline.saved_seconds

    budget.add_step(0.0, 2.0, one_off_seconds=2.0)

    assert budget.hook_seconds == 2.0
    assert budget.inline.saved_seconds == saved


def test_inspections_that_training_does_not_wait_for_become_free() -> None:
    budget = Budget(1.0)
    budget.learn_inspection_cost(0.05, 0.0)
    assert budget.inspection_share(0.05) > 10

    for _ in range(30):
        budget.learn_inspection(0.05, is_hidden=True)

    assert budget.inspection_share(0.05) < 0.01
