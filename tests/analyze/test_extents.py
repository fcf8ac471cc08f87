import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.extents import Extents, SharedTime
from sonde.records.arrays import IntArray

intervals = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted), max_size=8)


def extents(pairs: list[list[int]]) -> Extents:
    return Extents.of(*arrays(pairs))


def arrays(pairs: list[list[int]]) -> tuple[IntArray, IntArray]:
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def instants(pairs: list[list[int]]) -> set[int]:
    return {instant for start, end in pairs for instant in range(start, end)}


def instants_of(result: Extents) -> set[int]:
    pairs = zip(result.starts_ns.tolist(), result.ends_ns.tolist(), strict=True)
    return {instant for start, end in pairs for instant in range(start, end)}


@given(intervals, intervals)
def test_set_operations_equal_those_of_sets_of_instants(
    pairs: list[list[int]], other_pairs: list[list[int]]
) -> None:
    first, second = extents(pairs), extents(other_pairs)
    assert instants_of(first) == instants(pairs)
    assert instants_of(first | second) == instants(pairs) | instants(other_pairs)
    assert instants_of(first & second) == instants(pairs) & instants(other_pairs)
    assert instants_of(first - second) == instants(pairs) - instants(other_pairs)
    assert instants_of(first.gaps(5, 30)) == set(range(5, 30)) - instants(pairs)
    assert first.total_ns == len(instants(pairs))


@given(intervals)
def test_intervals_of_a_union_are_disjoint_and_sorted(pairs: list[list[int]]) -> None:
    result = extents(pairs)
    assert (result.ends_ns > result.starts_ns).all()
    assert (result.starts_ns[1:] > result.ends_ns[:-1]).all()


@given(intervals, intervals)
def test_covered_time_of_other_intervals(
    pairs: list[list[int]], requested: list[list[int]]
) -> None:
    covered = extents(pairs).covered_ns(*arrays(requested))
    assert covered.tolist() == [len(instants(pairs) & instants([pair])) for pair in requested]


@given(intervals)
def test_contained_instants(pairs: list[list[int]]) -> None:
    inside = extents(pairs).contains(np.arange(41))
    assert set(np.flatnonzero(inside).tolist()) == instants(pairs)


@given(intervals)
def test_shared_time_adds_up_to_the_covered_time(pairs: list[list[int]]) -> None:
    starts, ends = arrays(pairs)
    shares = SharedTime(starts, ends).of(starts, ends)
    assert np.isclose(shares.sum(), len(instants(pairs)))


def test_two_concurrent_intervals_have_half_of_the_time_each() -> None:
    starts, ends = np.array([0, 5]), np.array([10, 15])
    assert SharedTime(starts, ends).of(starts, ends).tolist() == [7.5, 7.5]
