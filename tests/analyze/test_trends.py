"""Whether a noisy series has fallen, risen or stood still."""

import numpy as np
import pytest

from sonde.analyze.trends import change_over, halved, noise_around_bend, noise_of

RNG = np.random.default_rng(0)


def test_noise_is_told_from_a_trend() -> None:
    noise = RNG.standard_normal(4000)
    assert noise_of(noise) == pytest.approx(1.0, rel=0.05)
    assert noise_of(noise + np.linspace(0, 50, 4000)) == pytest.approx(1.0, rel=0.05)


def test_noise_is_told_from_a_bend() -> None:
    bend = 100 * np.exp(-np.arange(60) / 20)
    assert noise_around_bend(bend + RNG.standard_normal(60)) == pytest.approx(1.0, rel=0.4)
    assert noise_around_bend(np.array([1.0, 9.0])) == 0.0


def test_single_spikes_are_no_noise() -> None:
    noise = RNG.standard_normal(4000)
    noise[::100] = 1e9
    assert noise_of(noise) < 1.3


def test_a_fall_beyond_the_noise_is_one_and_a_smaller_one_is_not() -> None:
    noise = RNG.standard_normal(400)
    assert change_over(noise + np.linspace(2, 0, 400)).has_fallen(0.0, 3.5)
    assert change_over(noise + np.linspace(0, 2, 400)).has_risen(0.0, 3.5)
    assert not change_over(noise).has_fallen(0.0, 3.5)
    assert not change_over(noise + np.linspace(2, 0, 400)).has_fallen(5.0, 3.5)


def test_series_that_do_not_move_seldom_seem_to() -> None:
    series = RNG.standard_normal((2000, 40))
    assert np.mean([change_over(samples).has_fallen(0.0, 3.5) for samples in series]) < 0.005


def test_a_short_series_tells_nothing() -> None:
    assert not change_over(np.array([9.0, 1.0])).has_fallen(0.0, 3.5)


def test_halving_keeps_the_level() -> None:
    assert halved(np.array([1.0, 3.0, 5.0, 7.0, 9.0])).tolist() == [2.0, 6.0]
