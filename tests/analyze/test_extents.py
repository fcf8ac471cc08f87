import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.extents import Extents, Numbers, SharedTime

stretches = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted), max_size=8)


def extents(pairs: list[list[int]]) -> Extents:
    return Extents.of(*arrays(pairs))


def arrays(pairs: list[list[int]]) -> tuple[Numbers, Numbers]:
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def instants(pairs: list[list[int]]) -> set[int]:
    return {instant for start, end in pairs for instant in range(start, end)}


def instants_of(found: Extents) -> set[int]:
    pairs = zip(found.starts_ns.tolist(), found.ends_ns.tolist(), strict=True)
    return {instant for start, end in pairs for instant in range(start, end)}


@given(stretches, stretches)
def test_sets_of_stretches_are_sets_of_instants(
    one: list[list[int]], other: list[list[int]]
) -> None:
    first, second = extents(one), extents(other)
    assert instants_of(first) == instants(one)
    assert instants_of(first | second) == instants(one) | instants(other)
    assert instants_of(first & second) == instants(one) & instants(other)
    assert instants_of(first - second) == instants(one) - instants(other)
    assert instants_of(first.gaps(5, 30)) == set(range(5, 30)) - instants(one)
    assert first.total_ns == len(instants(one))


@given(stretches)
def test_stretches_of_a_set_are_apart_and_in_order(pairs: list[list[int]]) -> None:
    found = extents(pairs)
    assert (found.ends_ns > found.starts_ns).all()
    assert (found.starts_ns[1:] > found.ends_ns[:-1]).all()


@given(stretches, stretches)
def test_what_a_set_covers_of_other_stretches(one: list[list[int]], asked: list[list[int]]) -> None:
    covered = extents(one).covered_ns(*arrays(asked))
    assert covered.tolist() == [len(instants(one) & instants([pair])) for pair in asked]


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
