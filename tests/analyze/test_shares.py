"""Bounds of shares and means from samples that resemble their neighbors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.shares import effective_count, mean_error, share_bounds
from sonde.records.arrays import FloatArray


def switching(samples: int, share: float, length: float, seed: int) -> FloatArray:
    """Samples of 0 and 1 that stay at 1 for `length` samples on average (a Markov chain)."""
    rng = np.random.default_rng(seed)
    leave_high, leave_low = 1 / length, share / (1 - share) / length
    values, is_high = np.empty(samples), rng.random() < share
    for index, chance in enumerate(rng.random(samples)):
        is_high = is_high != (chance < (leave_high if is_high else leave_low))
        values[index] = is_high
    return values


@given(st.floats(0, 1), st.integers(1, 100_000), st.floats(0.1, 5))
def test_bounds_enclose_the_observed_share(share: float, count: int, z: float) -> None:
    low, high = share_bounds(share, count, z)
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_bounds_become_narrower_with_more_samples(share: float, count: int) -> None:
    low, high = share_bounds(share, count, 2.0)
    lower, higher = share_bounds(share, 4 * count, 2.0)
    assert higher - lower < high - low


def test_no_samples_exclude_nothing() -> None:
    assert share_bounds(0.0, 0, 2.0) == (0.0, 1.0)
    assert mean_error(np.empty(0)) == float("inf")


@pytest.mark.parametrize("length", [1.5, 4.0, 10.0])
def test_bounds_cover_the_true_share_of_samples_that_resemble_their_neighbors(
    length: float,
) -> None:
    covered = 0
    for seed in range(200):
        values = switching(600, 0.4, length, seed)
        low, high = share_bounds(float(values.mean()), effective_count(values), 2.0)
        covered += low <= 0.4 <= high
    assert covered >= 176


@given(st.lists(st.floats(0, 100), min_size=1, max_size=200))
def test_samples_never_count_more_than_they_are(values: list[float]) -> None:
    assert 0 < effective_count(np.array(values)) <= len(values)


def test_independent_samples_count_fully_and_long_phases_hardly() -> None:
    independent = np.random.default_rng(0).random(900)
    assert effective_count(independent) > 500
    assert effective_count(np.repeat(independent[:30], 30)) < 60
    assert effective_count(np.full(900, 28.0)) == 900
