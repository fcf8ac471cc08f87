"""Hosts that hold up their GPUs."""

from math import isnan

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.bottlenecks import find_bottleneck

percents = st.one_of(st.floats(0, 100), st.just(float("nan")))


@given(st.lists(st.tuples(percents, percents), max_size=40))
def test_what_is_held_up_is_low_and_both_are_counted_once(rows: list[tuple[float, float]]) -> None:
    load = np.array([item for item, _ in rows])
    gpu = np.array([item for _, item in rows])
    result = find_bottleneck(load, gpu, 90.0, 10.0)
    memory = [(a, b) for a, b in rows if not (isnan(a) or isnan(b))]
    assert result.count == len(memory)
    assert int(result.is_low.sum()) == sum(b < 10 for _, b in memory)
    assert int(result.is_held_up.sum()) == sum(a > 90 and b < 10 for a, b in memory)
    assert 0 <= result.held_up_percent <= result.low_percent <= 100
