"""How alike devices are used."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.balance import BINS, Reals, distances, quartiles_of, shares, unlike_the_mean

used = st.lists(st.floats(0, 100), min_size=1, max_size=40).map(np.array)


@given(used)
def test_shares_add_up_to_one(values: Reals) -> None:
    found = shares(values)
    assert len(found) == BINS
    assert found.sum() == pytest.approx(1.0)


@given(st.lists(used, min_size=2, max_size=5))
def test_distances_are_those_of_a_space(
    devices: list[Reals],
) -> None:
    found = distances([shares(one) for one in devices])
    assert (found >= 0).all()
    assert (found <= 1).all()
    assert np.diag(found) == pytest.approx(0.0)
    assert found == pytest.approx(found.T)
    for middle in range(len(devices)):
        through = found[:, [middle]] + found[[middle], :]
        assert (found <= through + 1e-9).all()


def test_an_idle_and_a_busy_device_are_nine_tenths_apart() -> None:
    found = distances([shares(np.zeros(5)), shares(np.full(5, 100.0))])
    assert found[0, 1] == pytest.approx(0.9)


@given(used)
def test_quartiles_are_those_of_numpy(
    values: Reals,
) -> None:
    found = quartiles_of(np.append(values, np.nan))
    assert found.count == len(values)
    expected = np.percentile(values, (0, 5, 25, 50, 75, 95, 100))
    numbers = (found.minimum, found.p5, found.p25, found.p50, found.p75, found.p95, found.maximum)
    assert numbers == pytest.approx(tuple(expected))


def test_those_that_differ_from_the_others_are_found() -> None:
    alike = [shares(np.full(5, 95.0)) for _ in range(6)]
    found = unlike_the_mean([*alike, shares(np.zeros(5)), *alike], 1)
    assert found == [6]
    assert unlike_the_mean(alike, 3) == [0, 1, 2]
