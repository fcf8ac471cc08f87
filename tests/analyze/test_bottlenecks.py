"""Idle GPUs of busy hosts."""

from math import isnan

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.bottlenecks import find_bottleneck

percents = st.one_of(st.floats(0, 100), st.just(float("nan")))


@given(st.lists(st.tuples(percents, percents), max_size=40))
def test_only_samples_with_known_loads_are_counted(rows: list[tuple[float, float]]) -> None:
    load = np.array([percent for percent, _ in rows])
    gpu = np.array([percent for _, percent in rows])
    result = find_bottleneck(load, gpu, 90.0, 10.0)
    known = [(host, gpu) for host, gpu in rows if not (isnan(host) or isnan(gpu))]
    assert result.count == len(known)
    assert int(result.is_low.sum()) == sum(gpu < 10 for _, gpu in known)
    assert int(result.is_held_up.sum()) == sum(host > 90 and gpu < 10 for host, gpu in known)
    assert 0 <= result.held_up_percent <= result.low_percent <= 100
