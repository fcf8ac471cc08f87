"""Collectives of several workers laid side by side."""

import numpy as np

from sonde.analyze.collectives import ALONE, lateness, match, slow_worker
from sonde.records.arrays import IntArray

MILLISECOND = 1_000_000


def calls(
    starts: dict[int, list[int]], ends: dict[int, list[int]]
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """All of one kind, in milliseconds."""
    ranks = np.array([rank for rank, times in starts.items() for _ in times])
    kinds = np.zeros(len(ranks), dtype=np.int64)
    first = np.array([time for times in starts.values() for time in times]) * MILLISECOND
    last = np.array([time for times in ends.values() for time in times]) * MILLISECOND
    return kinds, ranks, first, last


def jittered(late: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Worker 1 comes that much later than worker 0, give or take two milliseconds."""
    random = np.random.default_rng(11)
    mine = np.arange(40) * 100 + random.integers(0, 4, 40)
    remaining_names = np.arange(40) * 100 + late + random.integers(0, 4, 40)
    over = np.maximum(mine, remaining_names) + 5
    return calls(
        {0: mine.tolist(), 1: remaining_names.tolist()}, {0: over.tolist(), 1: (over + 1).tolist()}
    )


def test_the_first_waits_for_the_last_and_the_rest_is_transfer() -> None:
    matched = match(*calls({0: [0, 100], 1: [30, 100]}, {0: [32, 103], 1: [33, 104]}))
    assert (matched.waiting_ns // MILLISECOND).tolist() == [30, 0, 0, 0]
    assert (matched.late_ns // MILLISECOND).tolist() == [0, 0, 30, 0]
    assert matched.collectives.tolist() == [0, 1, 0, 1]
    assert matched.is_last.tolist() == [False, True, True, True]


def test_calls_are_matched_by_their_order_and_not_by_time() -> None:
    matched = match(*calls({0: [0, 1, 2], 1: [50, 51, 52]}, {0: [60, 61, 62], 1: [60, 61, 62]}))
    assert matched.collectives.tolist() == [0, 1, 2, 0, 1, 2]


def test_one_that_no_other_worker_has_waits_for_nobody() -> None:
    matched = match(*calls({0: [0], 1: []}, {0: [9], 1: []}))
    assert matched.collectives.tolist() == [ALONE]
    assert matched.waiting_ns.tolist() == [0]
    assert not matched.is_last.any()


def test_other_kinds_stay_apart() -> None:
    _, ranks, starts, ends = calls({0: [0], 1: [10]}, {0: [11], 1: [12]})
    matched = match(np.array([3, 4]), ranks, starts, ends)
    assert matched.collectives.tolist() == [ALONE, ALONE]


def test_a_wait_is_never_longer_than_the_call() -> None:
    matched = match(*calls({0: [0], 1: [30]}, {0: [10], 1: [31]}))
    assert (matched.waiting_ns // MILLISECOND).tolist() == [10, 0]


def test_nothing_is_matched_where_nothing_was_recorded() -> None:
    nothing = np.empty(0, dtype=np.int64)
    matched = match(nothing, nothing, nothing, nothing)
    assert lateness(matched, nothing, nothing, nothing) == ()
    assert slow_worker((), 0, 0) is None


STEPS = np.tile(np.arange(40), 2)


def test_the_worker_that_all_wait_for_is_named() -> None:
    kinds, ranks, starts, ends = jittered(late=30)
    workers = lateness(match(kinds, ranks, starts, ends), ranks, STEPS, ends - starts)
    slow = slow_worker(workers, 40, MILLISECOND)
    assert slow is workers[1]
    assert (slow.worker, slow.last, slow.awaited_steps) == (1, 40, 40)
    assert 28 <= slow.awaited_ns / 40 / MILLISECOND <= 34
    assert workers[0].waiting_ns == slow.awaited_ns
    assert slow.waiting_ns == 0


def test_it_is_named_though_it_is_late_for_one_of_many_in_a_step() -> None:
    kinds, ranks, starts, ends = jittered(late=0)
    is_first = (np.arange(80) % 4 == 0) & (ranks == 1)
    starts = starts + is_first * 30 * MILLISECOND
    ends = np.maximum(ends, np.tile(np.maximum(*starts.reshape(2, 40)) + MILLISECOND, 2))
    workers = lateness(match(kinds, ranks, starts, ends), ranks, STEPS // 4, ends - starts)
    slow = slow_worker(workers, 10, MILLISECOND)
    assert slow is not None
    assert (slow.worker, slow.awaited_steps) == (1, 10)


def test_workers_that_only_jitter_are_not_accused() -> None:
    kinds, ranks, starts, ends = jittered(late=0)
    workers = lateness(match(kinds, ranks, starts, ends), ranks, STEPS, ends - starts)
    assert slow_worker(workers, 40, MILLISECOND) is None
