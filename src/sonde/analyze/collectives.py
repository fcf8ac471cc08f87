"""Match collectives between workers: which worker waited for which, and for how long.

Workers of a group call the same collectives in the same order. All others wait until the last
worker enters; the rest of the call is the transfer.
"""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import BoolArray, IntArray

UNMATCHED = -1
_MIN_AWAITED_STEPS = 3 / 4  # share of steps in which the others mostly wait for the slow worker
_MIN_AWAITED_SHARE = 0.2  # share of the exposed collective time spent waiting for it


@dataclass(frozen=True)
class MatchedCollectives:
    """Calls matched across workers, and how long each waited; one entry per call."""

    collectives: IntArray  # number of the collective; UNMATCHED if no other worker called it
    waiting_ns: IntArray  # until the last worker entered
    late_ns: IntArray  # delay after the first worker
    is_last: BoolArray


@dataclass(frozen=True)
class Lateness:
    """Waiting times of one worker, over all matched collectives."""

    worker: int
    calls: int
    exposed_ns: int
    waiting_ns: int
    last: int  # number of collectives that it entered last
    awaited_ns: int  # sum over collectives of the longest wait for this worker
    awaited_steps: int  # steps in which it caused more than half of the waiting


def call_numbers(kinds: IntArray, ranks: IntArray, starts_ns: IntArray) -> IntArray:
    """Number the calls of each kind on each worker from 0, in order of time."""
    order = np.lexsort((starts_ns, ranks, kinds))
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (np.diff(kinds[order]) != 0) | (np.diff(ranks[order]) != 0)
    firsts = np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))
    indices = np.empty(len(order), dtype=np.int64)
    indices[order] = np.arange(len(order)) - firsts
    return indices


def match(
    kinds: IntArray, ranks: IntArray, starts_ns: IntArray, ends_ns: IntArray
) -> MatchedCollectives:
    """Match the calls of several workers.

    Args:
        kinds: A number for each group, operation and step.
        ranks: The worker of each call.
        starts_ns: Start times, on one clock.
        ends_ns: End times.
    """
    if not len(kinds):
        empty = np.empty(0, dtype=np.int64)
        return MatchedCollectives(empty, empty, empty, np.empty(0, dtype=np.bool_))
    indices = call_numbers(kinds, ranks, starts_ns)
    width = int(indices.max()) + 1
    _, numbers, counts = np.unique(kinds * width + indices, return_inverse=True, return_counts=True)
    first_ns = np.full(len(counts), np.iinfo(np.int64).max)
    last_ns = np.full(len(counts), np.iinfo(np.int64).min)
    np.minimum.at(first_ns, numbers, starts_ns)
    np.maximum.at(last_ns, numbers, starts_ns)
    is_shared = counts[numbers] > 1
    waiting_ns = np.clip(last_ns[numbers] - starts_ns, 0, ends_ns - starts_ns)
    return MatchedCollectives(
        np.where(is_shared, numbers, UNMATCHED),
        np.where(is_shared, waiting_ns, 0),
        np.where(is_shared, starts_ns - first_ns[numbers], 0),
        is_shared & (starts_ns == last_ns[numbers]),
    )


def lateness(
    matched: MatchedCollectives, ranks: IntArray, steps: IntArray, exposed_ns: IntArray
) -> tuple[Lateness, ...]:
    """Return, per worker, how long it waited and how long the others waited for it.

    Args:
        matched: The matched calls.
        ranks: The worker of each call.
        steps: The step of each call.
        exposed_ns: How long each call blocked training.
    """
    workers, rows = np.unique(ranks, return_inverse=True)
    distinct, columns = np.unique(steps, return_inverse=True)
    awaited_ns = np.zeros((len(workers), len(distinct)), dtype=np.int64)
    np.add.at(awaited_ns, (rows, columns), _longest_wait(matched) * matched.is_last)
    is_mostly = awaited_ns * 2 > awaited_ns.sum(axis=0)
    return tuple(
        Lateness(
            worker=int(workers[row]),
            calls=int((rows == row).sum()),
            exposed_ns=int(exposed_ns[rows == row].sum()),
            waiting_ns=int(matched.waiting_ns[rows == row].sum()),
            last=int(matched.is_last[rows == row].sum()),
            awaited_ns=int(awaited_ns[row].sum()),
            awaited_steps=int(is_mostly[row].sum()),
        )
        for row in range(len(workers))
    )


def slow_worker(workers: tuple[Lateness, ...], steps: int, min_ns: int) -> Lateness | None:
    """Return the worker that the others mostly wait for, or None.

    Args:
        workers: The waiting times of each worker.
        steps: Number of steps with matched collectives.
        min_ns: Shorter waits per step are ignored, for example the error of clocks.
    """
    if not steps:
        return None
    slowest = max(workers, key=lambda worker: worker.awaited_ns)
    exposed_ns = max((worker.exposed_ns for worker in workers if worker is not slowest), default=0)
    is_slow = (
        slowest.awaited_steps >= _MIN_AWAITED_STEPS * steps
        and slowest.awaited_ns > min_ns * steps
        and slowest.awaited_ns >= _MIN_AWAITED_SHARE * exposed_ns
    )
    return slowest if is_slow else None


def _longest_wait(matched: MatchedCollectives) -> IntArray:
    """Return, per call, the longest wait of any worker in its collective."""
    if not len(matched.collectives):
        return np.empty(0, dtype=np.int64)
    longest = np.zeros(int(matched.collectives.max()) + 2, dtype=np.int64)
    np.maximum.at(longest, matched.collectives, matched.waiting_ns)
    longest[UNMATCHED] = 0
    return np.asarray(longest[matched.collectives])
