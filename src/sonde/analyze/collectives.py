"""Match collectives between workers: which worker waited for which, and for how long.

Workers of a group call the same collectives in the same order. The last one to arrive waits for
nobody; until then the others wait, and what comes after is the transfer.
"""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import BoolArray, IntArray

ALONE = -1
_MOSTLY = 3 / 4  # of the steps in which a slow worker is what the others wait for
_SHARE = 0.2  # of the time in collectives that is spent in waiting for it


@dataclass(frozen=True)
class Matched:
    """Which calls belong together, and what each spent its time with; one entry per call."""

    collectives: IntArray  # the number of the collective; ALONE where no other worker has it
    waiting_ns: IntArray  # until the last worker was there
    late_ns: IntArray  # how much later than the first it came
    is_last: BoolArray


@dataclass(frozen=True)
class Lateness:
    """One worker, over all collectives that were matched."""

    worker: int
    calls: int
    exposed_ns: int
    waiting_ns: int
    last: int  # how often it was the last
    awaited_ns: int  # how long the others waited for it, added up over the collectives
    awaited_steps: int  # in how many steps they waited for it more than for all others


def place_in_order(kinds: IntArray, ranks: IntArray, starts_ns: IntArray) -> IntArray:
    """The how-manieth call of its kind each one is, on its worker."""
    order = np.lexsort((starts_ns, ranks, kinds))
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (np.diff(kinds[order]) != 0) | (np.diff(ranks[order]) != 0)
    firsts = np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))
    indices = np.empty(len(order), dtype=np.int64)
    indices[order] = np.arange(len(order)) - firsts
    return indices


def match(kinds: IntArray, ranks: IntArray, starts_ns: IntArray, ends_ns: IntArray) -> Matched:
    """Puts the calls of several workers together.

    Args:
        kinds: A number per group, operation and step.
        ranks: Who called.
        starts_ns: When each call began, on one clock for all.
        ends_ns: When it was over.
    """
    if not len(kinds):
        nothing = np.empty(0, dtype=np.int64)
        return Matched(nothing, nothing, nothing, np.empty(0, dtype=np.bool_))
    indices = place_in_order(kinds, ranks, starts_ns)
    width = int(indices.max()) + 1
    _, numbers, counts = np.unique(kinds * width + indices, return_inverse=True, return_counts=True)
    first_ns = np.full(len(counts), np.iinfo(np.int64).max)
    last_ns = np.full(len(counts), np.iinfo(np.int64).min)
    np.minimum.at(first_ns, numbers, starts_ns)
    np.maximum.at(last_ns, numbers, starts_ns)
    is_shared = counts[numbers] > 1
    waiting_ns = np.clip(last_ns[numbers] - starts_ns, 0, ends_ns - starts_ns)
    return Matched(
        np.where(is_shared, numbers, ALONE),
        np.where(is_shared, waiting_ns, 0),
        np.where(is_shared, starts_ns - first_ns[numbers], 0),
        is_shared & (starts_ns == last_ns[numbers]),
    )


def lateness(
    matched: Matched, ranks: IntArray, steps: IntArray, exposed_ns: IntArray
) -> tuple[Lateness, ...]:
    """What each worker waited, and how long it let the others wait.

    Args:
        matched: Which calls belong together.
        ranks: Who called.
        steps: A number per step in which calls were made.
        exposed_ns: What each call made the training wait.
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


def slow_worker(workers: tuple[Lateness, ...], steps: int, least_ns: int) -> Lateness | None:
    """The worker that the others wait for, if there is one.

    Args:
        workers: What each of them waited.
        steps: How many steps have matched collectives.
        least_ns: What is too little to speak of in a step, such as the error of clocks.
    """
    if not steps:
        return None
    slowest = max(workers, key=lambda worker: worker.awaited_ns)
    exposed_ns = max((worker.exposed_ns for worker in workers if worker is not slowest), default=0)
    is_slow = (
        slowest.awaited_steps >= _MOSTLY * steps
        and slowest.awaited_ns > least_ns * steps
        and slowest.awaited_ns >= _SHARE * exposed_ns
    )
    return slowest if is_slow else None


def _longest_wait(matched: Matched) -> IntArray:
    """Per call, how long the first worker waited in its collective."""
    if not len(matched.collectives):
        return np.empty(0, dtype=np.int64)
    longest = np.zeros(int(matched.collectives.max()) + 2, dtype=np.int64)
    np.maximum.at(longest, matched.collectives, matched.waiting_ns)
    longest[ALONE] = 0
    return np.asarray(longest[matched.collectives])
