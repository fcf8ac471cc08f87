import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.extents import Extents, SharedTime
from sonde.records.arrays import IntArray

stretches = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted), max_size=8)


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


@given(stretches, stretches)
def test_sets_of_stretches_are_sets_of_instants(
    item: list[list[int]], rival: list[list[int]]
) -> None:
    first, second = extents(item), extents(rival)
    assert instants_of(first) == instants(item)
    assert instants_of(first | second) == instants(item) | instants(rival)
    assert instants_of(first & second) == instants(item) & instants(rival)
    assert instants_of(first - second) == instants(item) - instants(rival)
    assert instants_of(first.gaps(5, 30)) == set(range(5, 30)) - instants(item)
    assert first.total_ns == len(instants(item))


@given(stretches)
def test_stretches_of_a_set_are_apart_and_in_order(pairs: list[list[int]]) -> None:
    result = extents(pairs)
    assert (result.ends_ns > result.starts_ns).all()
    assert (result.starts_ns[1:] > result.ends_ns[:-1]).all()


@given(stretches, stretches)
def test_what_a_set_covers_of_other_stretches(
    item: list[list[int]], requested: list[list[int]]
) -> None:
    covered = extents(item).covered_ns(*arrays(requested))
    assert covered.tolist() == [len(instants(item) & instants([pair])) for pair in requested]


@given(stretches)
def test_instants_inside_of_a_set(pairs: list[list[int]]) -> None:
    inside = extents(pairs).holds(np.arange(41))
    assert set(np.flatnonzero(inside).tolist()) == instants(pairs)


@given(stretches)
def test_shared_time_adds_up_to_what_is_covered(pairs: list[list[int]]) -> None:
    starts, ends = arrays(pairs)
    shares = SharedTime(starts, ends).of(starts, ends)
    assert np.isclose(shares.sum(), len(instants(pairs)))


def test_two_at_once_have_half_of_the_time_each() -> None:
    starts, ends = np.array([0, 5]), np.array([10, 15])
    assert SharedTime(starts, ends).of(starts, ends).tolist() == [7.5, 7.5]
