"""Matching of collectives between workers."""

import numpy as np

from sonde.analyze.collectives import UNMATCHED, lateness, match, slow_worker
from sonde.records.arrays import IntArray

MILLISECOND = 1_000_000


def calls(
    starts: dict[int, list[int]], ends: dict[int, list[int]]
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Calls of one kind, with times in milliseconds."""
    ranks = np.array([rank for rank, times in starts.items() for _ in times])
    kinds = np.zeros(len(ranks), dtype=np.int64)
    first = np.array([time for times in starts.values() for time in times]) * MILLISECOND
    last = np.array([time for times in ends.values() for time in times]) * MILLISECOND
    return kinds, ranks, first, last


def jittered(late: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Worker 1 enters N ms later than worker 0, with a jitter of a few milliseconds."""
    random = np.random.default_rng(11)
    first = np.arange(40) * 100 + random.integers(0, 4, 40)
    second = np.arange(40) * 100 + late + random.integers(0, 4, 40)
    ends = np.maximum(first, second) + 5
    return calls(
        {0: first.tolist(), 1: second.tolist()}, {0: ends.tolist(), 1: (ends + 1).tolist()}
    )


def test_the_first_worker_waits_until_the_last_one_enters() -> None:
    matched = match(*calls({0: [0, 100], 1: [30, 100]}, {0: [32, 103], 1: [33, 104]}))
    assert (matched.waiting_ns // MILLISECOND).tolist() == [30, 0, 0, 0]
    assert (matched.late_ns // MILLISECOND).tolist() == [0, 0, 30, 0]
    assert matched.collectives.tolist() == [0, 1, 0, 1]
    assert matched.is_last.tolist() == [False, True, True, True]


def test_calls_are_matched_by_order_not_by_time() -> None:
    matched = match(*calls({0: [0, 1, 2], 1: [50, 51, 52]}, {0: [60, 61, 62], 1: [60, 61, 62]}))
    assert matched.collectives.tolist() == [0, 1, 2, 0, 1, 2]


def test_a_call_of_a_single_worker_is_not_matched() -> None:
    matched = match(*calls({0: [0], 1: []}, {0: [9], 1: []}))
    assert matched.collectives.tolist() == [UNMATCHED]
    assert matched.waiting_ns.tolist() == [0]
    assert not matched.is_last.any()


def test_calls_of_different_kinds_are_not_matched() -> None:
    _, ranks, starts, ends = calls({0: [0], 1: [10]}, {0: [11], 1: [12]})
    matched = match(np.array([3, 4]), ranks, starts, ends)
    assert matched.collectives.tolist() == [UNMATCHED, UNMATCHED]


def test_a_wait_is_never_longer_than_the_call() -> None:
    matched = match(*calls({0: [0], 1: [30]}, {0: [10], 1: [31]}))
    assert (matched.waiting_ns // MILLISECOND).tolist() == [10, 0]


def test_without_calls_no_worker_is_slow() -> None:
    empty = np.empty(0, dtype=np.int64)
    matched = match(empty, empty, empty, empty)
    assert lateness(matched, empty, empty, empty) == ()
    assert slow_worker((), 0, 0) is None


STEPS = np.tile(np.arange(40), 2)


def test_the_worker_that_all_wait_for_is_the_slow_one() -> None:
    kinds, ranks, starts, ends = jittered(late=30)
    workers = lateness(match(kinds, ranks, starts, ends), ranks, STEPS, ends - starts)
    slow = slow_worker(workers, 40, MILLISECOND)
    assert slow is workers[1]
    assert (slow.worker, slow.last, slow.awaited_steps) == (1, 40, 40)
    assert 28 <= slow.awaited_ns / 40 / MILLISECOND <= 34
    assert workers[0].waiting_ns == slow.awaited_ns
    assert slow.waiting_ns == 0


def test_a_worker_that_is_late_once_per_step_is_the_slow_one() -> None:
    kinds, ranks, starts, ends = jittered(late=0)
    is_first = (np.arange(80) % 4 == 0) & (ranks == 1)
    starts = starts + is_first * 30 * MILLISECOND
    ends = np.maximum(ends, np.tile(np.maximum(*starts.reshape(2, 40)) + MILLISECOND, 2))
    workers = lateness(match(kinds, ranks, starts, ends), ranks, STEPS // 4, ends - starts)
    slow = slow_worker(workers, 10, MILLISECOND)
    assert slow is not None
    assert (slow.worker, slow.awaited_steps) == (1, 10)


def test_jitter_makes_no_worker_slow() -> None:
    kinds, ranks, starts, ends = jittered(late=0)
    workers = lateness(match(kinds, ranks, starts, ends), ranks, STEPS, ends - starts)
    assert slow_worker(workers, 40, MILLISECOND) is None
