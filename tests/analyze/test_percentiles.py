"""Percentiles of known values."""

import warnings

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sonde.analyze.percentiles import percentiles

VALUES = hnp.arrays(
    np.float32,
    st.tuples(st.integers(0, 3), st.integers(0, 40)),
    elements=st.floats(-1e6, 1e6, width=32) | st.just(float("nan")),
)
QUANTILES = st.lists(st.floats(0, 100), min_size=1, max_size=5)


@given(VALUES, QUANTILES)
@settings(max_examples=150)
def test_percentiles_equal_those_of_numpy(
    values: npt.NDArray[np.float32], requested: list[float]
) -> None:
    result = percentiles(values, requested)

    assert result.shape == (len(values), len(requested))
    for row, series in zip(result, values.astype(np.float64), strict=True):
        if np.isnan(series).all():
            assert np.isnan(row).all()
        else:
            expected = np.nanpercentile(series, requested)
            np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-6)


def test_minimum_and_maximum_are_exact() -> None:
    values = np.array([[3.5, np.nan, -1.25, 8.0]], dtype=np.float32)

    assert percentiles(values, (0, 100)).tolist() == [[-1.25, 8.0]]


def test_infinite_values_count() -> None:
    values = np.array([[np.inf, np.inf, 1.0, -np.inf]], dtype=np.float32)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = percentiles(values, (0, 95, 100))

    assert result.tolist() == [[-np.inf, np.inf, np.inf]]


def test_the_input_is_not_modified() -> None:
    values = np.array([[3.0, 1.0, 2.0]], dtype=np.float32)

    percentiles(values, (50,))

    assert values.tolist() == [[3.0, 1.0, 2.0]]
