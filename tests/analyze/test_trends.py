"""Changes of noisy series."""

import numpy as np
import pytest

from sonde.analyze.trends import average_pairs, measure_change, noise_around_bend, noise_of

RNG = np.random.default_rng(0)


def test_a_trend_does_not_change_the_noise() -> None:
    noise = RNG.standard_normal(4000)
    assert noise_of(noise) == pytest.approx(1.0, rel=0.05)
    assert noise_of(noise + np.linspace(0, 50, 4000)) == pytest.approx(1.0, rel=0.05)


def test_a_bend_does_not_change_the_noise() -> None:
    bend = 100 * np.exp(-np.arange(60) / 20)
    assert noise_around_bend(bend + RNG.standard_normal(60)) == pytest.approx(1.0, rel=0.4)
    assert noise_around_bend(np.array([1.0, 9.0])) == 0.0


def test_single_spikes_hardly_change_the_noise() -> None:
    noise = RNG.standard_normal(4000)
    noise[::100] = 1e9
    assert noise_of(noise) < 1.3


def test_only_changes_beyond_the_noise_count() -> None:
    noise = RNG.standard_normal(400)
    assert measure_change(noise + np.linspace(2, 0, 400)).has_fallen(0.0, 3.5)
    assert measure_change(noise + np.linspace(0, 2, 400)).has_risen(0.0, 3.5)
    assert not measure_change(noise).has_fallen(0.0, 3.5)
    assert not measure_change(noise + np.linspace(2, 0, 400)).has_fallen(5.0, 3.5)


def test_flat_series_are_rarely_reported_as_fallen() -> None:
    series = RNG.standard_normal((2000, 40))
    assert np.mean([measure_change(samples).has_fallen(0.0, 3.5) for samples in series]) < 0.005


def test_a_series_of_two_values_has_not_fallen() -> None:
    assert not measure_change(np.array([9.0, 1.0])).has_fallen(0.0, 3.5)


def test_means_of_pairs_keep_the_level() -> None:
    assert average_pairs(np.array([1.0, 3.0, 5.0, 7.0, 9.0])).tolist() == [2.0, 6.0]
