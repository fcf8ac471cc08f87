"""A bounded cache evicts the least recently used values."""

import numpy as np

from sonde.bounded_cache import byte_cache
from tests.fakes.job import FakeJob


def _bytes(count: int) -> np.ndarray:
    return np.zeros(count, dtype=np.uint8)


def test_the_least_recently_used_value_is_evicted() -> None:
    cache = byte_cache(100)
    cache.put("a", _bytes(40))
    cache.put("b", _bytes(40))
    assert cache.get("a") is not None
    cache.put("c", _bytes(40))
    assert cache.get("b") is None
    assert cache.get("a") is not None
    assert cache.get("c") is not None
    assert cache.size == 80


def test_a_value_above_the_limit_is_not_stored_and_evicts_nothing() -> None:
    cache = byte_cache(100)
    cache.put("a", _bytes(40))
    cache.put("b", _bytes(101))
    assert cache.get("b") is None
    assert cache.get("a") is not None


def test_a_key_stored_again_counts_once() -> None:
    cache = byte_cache(100)
    for size in (40, 60, 50):
        cache.put("a", _bytes(size))
    assert cache.size == 50


def test_a_reader_with_a_cache_reads_the_same_samples_as_one_without() -> None:
    job = FakeJob().record({f"cpu/{n}": [float(n + i) for i in range(300)] for n in range(4)})
    job.seal()
    plain, cached = job.reader(), job.reader()
    cached._decoded = decoded = byte_cache(1 << 20)
    cached._sealed_segments = {}
    cached.refresh()
    keys = [series.key for series in plain.series]
    for requested in (keys[:2], keys, [*keys[1:], "unknown"]):
        for _ in range(2):
            expected, result = plain.samples(requested), cached.samples(requested)
            np.testing.assert_array_equal(result[0], expected[0])
            np.testing.assert_array_equal(result[1], expected[1])
    assert decoded.size > 0
