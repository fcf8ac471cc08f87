"""Quantiles from histograms of values."""

import numpy as np
import pytest

from sonde.analyze.sketch import add_to_sketch, sketch_quantiles
from sonde.records.arrays import FloatArray

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "values",
    [RNG.uniform(0, 100, 5000), RNG.lognormal(10, 4, 5000), np.full(7, 3.0), np.array([5.0])],
)
def test_quantiles_are_accurate_to_one_percent(values: FloatArray) -> None:
    sketch: dict[str, int] = {}
    for chunk in np.array_split(values, 3):
        add_to_sketch(sketch, chunk)
    requested = (0.0, 5.0, 50.0, 95.0, 99.0, 100.0)
    exact = np.percentile(values, requested, method="lower")
    assert sketch_quantiles(sketch, requested) == pytest.approx(exact.tolist(), rel=0.0101)


def test_zero_is_exact() -> None:
    sketch: dict[str, int] = {}
    add_to_sketch(sketch, np.array([0.0, 0.0, 0.0, 8.0]))
    assert sketch_quantiles(sketch, (50.0, 100.0)) == [0.0, pytest.approx(8.0, rel=0.01)]
