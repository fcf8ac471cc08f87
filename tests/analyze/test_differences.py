"""Differences of step times, with their noise."""

import math

import numpy as np
import pytest

from sonde.analyze.differences import difference_of, differs, without_warm_up
from sonde.records.arrays import FloatArray


def steps(mean: float, noise: float, seed: int, count: int = 400) -> FloatArray:
    return mean + noise * np.random.default_rng(seed).standard_normal(count)


def test_a_slower_run_is_significant_and_its_bound_covers_the_true_difference() -> None:
    covered = 0
    for seed in range(100):
        difference = difference_of(steps(0.22, 0.02, seed), steps(0.26, 0.02, 1000 + seed))
        assert difference.is_significant
        assert difference.percent == pytest.approx(18.2, abs=3)
        covered += abs(difference.change - 0.04) <= difference.bound
    assert covered >= 88  # of 95 expected


def test_equal_runs_are_within_noise() -> None:
    alarms = sum(
        difference_of(steps(0.2, 0.05, seed), steps(0.2, 0.05, 1000 + seed)).is_significant
        for seed in range(100)
    )
    assert alarms <= 12  # of 5 expected


def test_slow_drifts_widen_the_bound() -> None:
    drift = 0.05 * np.sin(np.linspace(0, 6, 400))
    steady = difference_of(steps(0.2, 0.01, 1), steps(0.2, 0.01, 2))
    drifting = difference_of(steps(0.2, 0.01, 1) + drift, steps(0.2, 0.01, 2) + drift)
    assert drifting.bound > 3 * steady.bound


def test_a_few_steps_decide_nothing() -> None:
    difference = difference_of(np.array([1.0, 1.1, 0.9]), np.array([2.0, 2.1, 1.9]))
    assert difference.change == pytest.approx(1.0)
    assert math.isnan(difference.bound)
    assert not difference.is_significant


def test_without_steps_there_is_no_difference() -> None:
    assert math.isnan(difference_of(np.empty(0), steps(1, 0, 1)).change)


def test_the_first_steps_do_not_count() -> None:
    assert without_warm_up(1000) == slice(10, 1000)
    assert without_warm_up(20) == slice(2, 20)
    assert without_warm_up(5) == slice(0, 5)


def test_values_differ_beyond_rounding() -> None:
    first = np.array([1.0, 1.0, np.nan, np.nan, np.inf, 0.0])
    second = np.array([1.0 + 1e-7, 1.1, np.nan, 1.0, np.inf, 1e-9])
    assert differs(first, second, 1e-5).tolist() == [False, True, False, True, False, True]
