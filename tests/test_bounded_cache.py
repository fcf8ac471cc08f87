"""A bounded cache evicts the least recently used values, and measures what they hold."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.bounded_cache import BoundedCache, byte_cache, bytes_of
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


class _Named(NamedTuple):
    version: int
    value: Any


@dataclass(frozen=True)
class _Fields:
    value: Any
    name: str = "fields"


@dataclass(frozen=True, slots=True)
class _Slots:
    value: Any


@dataclass
class _FilledLater:
    size: int
    reads: list[int] = field(default_factory=list)

    @cached_property
    def values(self) -> np.ndarray:
        self.reads.append(self.size)
        return _bytes(self.size)


class _Reader:
    """Holds data that others share."""

    def __init__(self) -> None:
        self.data = _bytes(1 << 20)


def _table(size: int) -> pa.Table:
    return pa.table({"value": _bytes(size)})


CONTAINERS: list[Callable[[Any], Any]] = [
    lambda value: (value, 1),
    lambda value: [value, "text"],
    lambda value: {"key": value},
    lambda value: _Named(1, value),
    _Fields,
    _Slots,
]
LEAVES = st.builds(
    lambda kind, size: (kind(size), size), st.sampled_from([_bytes, _table]), st.integers(1, 4000)
)


@st.composite
def _held(draw: st.DrawFn) -> tuple[Any, int]:
    """A value and the bytes of the arrays and tables in it."""
    leaves = draw(st.lists(LEAVES, min_size=1, max_size=12))
    values = [value for value, _ in leaves]
    value: Any = values[0] if len(values) == 1 else draw(st.sampled_from([list, tuple]))(values)
    for container in draw(st.lists(st.sampled_from(CONTAINERS), max_size=3)):
        value = container(value)
    return value, sum(size for _, size in leaves)


@given(st.lists(st.tuples(st.integers(0, 9), _held()), max_size=40))
def test_the_arrays_and_tables_held_never_exceed_the_limit(
    stored: list[tuple[int, tuple[Any, int]]],
) -> None:
    limit = 20_000
    cache = byte_cache(limit)
    sizes: dict[int, int] = {}
    for key, (value, size) in stored:
        cache.put(key, value)
        sizes[key] = size
        held = sum(size for key, size in sizes.items() if cache.get(key) is not None)
        assert held <= cache.size <= limit


@pytest.mark.parametrize("container", CONTAINERS)
def test_values_inside_containers_are_measured(container: Callable[[Any], Any]) -> None:
    for value in (_bytes(1 << 20), _table(1 << 20), [_bytes(1 << 10)] * 10 + [_bytes(1 << 20)]):
        assert 1 << 20 <= bytes_of(container(container(value))) < 1.1 * (1 << 20)


def test_a_view_counts_as_the_memory_it_keeps() -> None:
    values = np.zeros(1 << 20, dtype=np.uint8)
    assert bytes_of(values[:10]) == 1 << 20
    assert 1 << 20 <= bytes_of([values, values[:10], values[10:]]) < (1 << 20) + 1000
    assert bytes_of(_table(1 << 20).slice(0, 10)) >= 1 << 20


def test_readers_that_others_share_are_not_measured() -> None:
    assert bytes_of(_Fields(_Reader())) < 1000


def test_large_containers_are_extrapolated_from_a_sample() -> None:
    many = {number: [float(number)] for number in range(50_000)}
    exact = sum(map(bytes_of, many.values()))
    assert exact < bytes_of(many) < 4 * exact
    assert bytes_of([_bytes(1000) for _ in range(5000)]) == pytest.approx(5e6, rel=0.1)
    texts = np.array(["x" * 1000] * 5000, dtype=object)
    assert bytes_of(texts) == pytest.approx(5e6, rel=0.1)


def test_a_deeply_nested_value_is_measured_up_to_a_depth() -> None:
    nested: list[Any] = []
    nested.append(nested)
    assert bytes_of(nested) < 1000


def test_the_size_of_a_stored_value_is_measured_once() -> None:
    measured: list[str] = []

    def size_of(text: str) -> int:
        measured.append(text)
        return len(text)

    cache: BoundedCache[str] = BoundedCache(10, size_of)
    cache.put("a", "12345")
    cache.put("b", "123456")
    cache.discard("b")
    assert measured == ["12345", "123456"]
    assert (len(cache), cache.size) == (0, 0)


def test_a_value_that_has_grown_is_measured_again_and_evicts_others() -> None:
    cache = byte_cache(10_000)
    lazy = _FilledLater(8000)
    cache.put("other", _bytes(4000))
    cache.put("lazy", lazy)
    assert len(lazy.values) == 8000
    cache.measure("lazy")
    assert cache.get("other") is None
    assert cache.get("lazy") is lazy
    assert 8000 <= cache.size <= 10_000
    cache.measure("unknown")


def test_a_value_that_has_grown_above_the_limit_stays_until_the_next_is_stored() -> None:
    cache = byte_cache(10_000)
    lazy = _FilledLater(20_000)
    cache.put("lazy", lazy)
    assert len(lazy.values) == 20_000
    cache.measure("lazy")
    assert cache.get("lazy") is lazy
    cache.put("next", _bytes(10))
    assert cache.get("lazy") is None
    assert cache.size == 10
