"""Steady growth and growth that levels off."""

import numpy as np
import pytest

from sonde.analyze.growth import growth_by_time_or_steps, growth_of, halve

SECONDS = np.arange(60.0)
RNG = np.random.default_rng(0)
STEADY = {
    "a straight line": SECONDS,
    "with noise": SECONDS + RNG.normal(0, 1, 60),
    "in small stairs": np.floor(SECONDS / 3),
    "quicker and quicker": SECONDS**1.5,
}
NOT_STEADY = {
    "flat": np.full(60, 5.0),
    "falling": -SECONDS,
    "one jump": np.where(SECONDS < 20, 1.0, 5.0),
    "fills up": 1 - np.exp(-SECONDS / 15),
    "longest sequence so far": np.log(1 + SECONDS),
    "grows, then stays": np.minimum(SECONDS, 40),
    "up and down": np.sin(SECONDS / 5),
    "noise": RNG.normal(0, 1, 60),
}


@pytest.mark.parametrize("name", STEADY)
def test_continuous_growth_is_steady(name: str) -> None:
    growth = growth_of(SECONDS, STEADY[name])
    assert growth is not None
    assert growth.is_steady


@pytest.mark.parametrize("name", NOT_STEADY)
def test_growth_that_levels_off_is_not_steady(name: str) -> None:
    growth = growth_of(SECONDS, NOT_STEADY[name])
    assert growth is not None
    assert not growth.is_steady


def test_the_time_until_a_limit() -> None:
    growth = growth_of(SECONDS, 2 * SECONDS)
    assert growth is not None
    assert growth.seconds_until(218.0) == pytest.approx(50.0)
    assert growth.rise == pytest.approx(2 * 59 - 2 * 4.5)
    falling = growth_of(SECONDS, -SECONDS)
    assert falling is not None
    assert falling.seconds_until(10.0) == float("inf")


def test_a_few_noisy_points_have_no_growth() -> None:
    assert growth_of(SECONDS[:11], SECONDS[:11]) is None
    assert growth_of(np.append(SECONDS[:11], 500.0), SECONDS[:12]) is None


def test_halving_keeps_an_odd_last_row() -> None:
    rows = [[float(index), 2.0 * index] for index in range(5)]
    assert halve(rows, 5) == rows
    assert halve(rows, 4) == [[0.5, 1.0], [2.5, 5.0], [4.0, 8.0]]


def test_a_few_exact_points_must_lie_on_a_line() -> None:
    sample = SECONDS[:6]
    for values, is_steady in ((sample, True), (np.minimum(sample, 3), False), (sample * 0, False)):
        result = growth_by_time_or_steps(sample, sample, values)
        assert result is not None
        assert result.is_steady is is_steady
    assert growth_by_time_or_steps(SECONDS[:4], SECONDS[:4], SECONDS[:4]) is None


def test_growth_per_step_is_steady_even_if_steps_become_slower() -> None:
    steps = np.where(SECONDS < 20, 10 * SECONDS, 200 + (SECONDS - 20))
    by_time = growth_of(SECONDS, steps)
    assert by_time is not None
    assert not by_time.is_steady
    by_steps = growth_by_time_or_steps(steps, SECONDS, steps)
    assert by_steps is not None
    assert by_steps.is_steady


def test_growth_per_step_is_steady_even_if_steps_come_in_bursts() -> None:
    steps = np.array([1, 20, 36, 50, 65, 68, 80, 98, 113, 126, 139, 148, 164, 210, 222, 232, 249.0])
    seconds = np.arange(len(steps)) / 2
    grown = growth_by_time_or_steps(steps, seconds, 344 + 0.81 * steps)
    filled = growth_by_time_or_steps(steps, seconds, 344 + 200 * (1 - np.exp(-steps / 60)))
    assert grown is not None
    assert grown.is_steady
    assert filled is not None
    assert not filled.is_steady
