"""Nesting of operations and their self times."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.traces.nesting import NO_PARENT, nest

Span = tuple[int, int, int]  # lane, start, duration


def nested(*spans: Span) -> tuple[list[int], list[int]]:
    lanes, starts, durations = (np.array(column) for column in zip(*spans, strict=True))
    parents, self_times = nest(lanes.astype(np.int32), starts, durations)
    return parents.tolist(), self_times.tolist()


def owners(spans: list[Span]) -> list[int]:
    """Return the owner of each instant: the running operation that began last."""
    self_times = [0] * len(spans)
    order = sorted(
        range(len(spans)), key=lambda operation: (spans[operation][1], -spans[operation][2])
    )
    for lane in {span[0] for span in spans}:
        for instant in range(max(start + duration for _, start, duration in spans)):
            going = [
                operation
                for operation in order
                if spans[operation][0] == lane
                and spans[operation][1] <= instant < spans[operation][1] + spans[operation][2]
            ]
            if going:
                self_times[going[-1]] += 1
    return self_times


def test_nested_operations_are_not_counted_twice() -> None:
    assert nested((0, 0, 100), (0, 10, 30), (0, 20, 5), (0, 60, 10)) == (
        [NO_PARENT, 0, 1, 0],
        [60, 25, 5, 10],
    )


def test_lanes_are_independent() -> None:
    assert nested((0, 0, 100), (1, 10, 30)) == ([NO_PARENT, NO_PARENT], [100, 30])


def test_adjacent_operations_are_not_nested() -> None:
    assert nested((0, 0, 10), (0, 10, 10)) == ([NO_PARENT, NO_PARENT], [10, 10])


def test_an_operation_without_a_duration_has_no_children() -> None:
    assert nested((0, 0, 10), (0, 5, 0), (0, 5, 2)) == ([NO_PARENT, 2, 0], [8, 0, 2])


def test_overlapping_operations_share_their_time() -> None:
    assert nested((0, 0, 10), (0, 5, 10)) == ([NO_PARENT, 0], [5, 10])


def test_time_beyond_the_parent_is_taken_from_the_next_enclosing_operation() -> None:
    assert nested((0, 0, 100), (0, 10, 10), (0, 15, 15)) == ([NO_PARENT, 0, 1], [80, 5, 15])


def test_an_overlap_does_not_affect_other_operations() -> None:
    clean = [(0, 1000, 100), (0, 1010, 20)]
    assert nested((0, 0, 10), (0, 5, 10), *clean)[1][2:] == nested(*clean)[1]


spans = st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 25))


@given(st.lists(spans, min_size=1, max_size=25, unique_by=lambda operation: operation))
def test_every_instant_belongs_to_the_operation_that_began_last(given_spans: list[Span]) -> None:
    assert nested(*given_spans)[1] == owners(given_spans)


@st.composite
def trees(draw: st.DrawFn) -> list[Span]:
    """Draw operations that nest as calls do."""
    calls: list[Span] = []

    def grow(start: int, end: int, depth: int) -> None:
        edges = draw(st.lists(st.integers(start, end), max_size=6, unique=True))
        for first, last in zip(sorted(edges)[::2], sorted(edges)[1::2], strict=False):
            calls.append((0, first, last - first))
            if depth:
                grow(first, last, depth - 1)

    grow(0, 200, 3)
    return calls


@given(trees().filter(bool))
def test_self_times_of_nested_calls_add_up_in_any_order(calls: list[Span]) -> None:
    shuffled = sorted(calls, key=hash)
    parents, self_times = nested(*shuffled)
    covered = {
        instant for _, start, duration in calls for instant in range(start, start + duration)
    }
    assert sum(self_times) == len(covered)
    assert self_times == owners(shuffled)
    for index, parent in enumerate(parents):
        if parent != NO_PARENT:
            _, start, duration = shuffled[index]
            _, around, length = shuffled[parent]
            assert around <= start
            assert start + duration <= around + length
