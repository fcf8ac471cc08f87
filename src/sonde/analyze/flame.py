"""Merge the call trees of several profiles: callers, callees and their times."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sonde.analyze.python_profile import Amounts
from sonde.records.arrays import IntArray
from sonde.records.python_profile import Function


@dataclass(frozen=True)
class Flame:
    """One frame per function and its callers; a parent comes before its children.

    Lines of a function are put together. Of brothers the one that took most comes first.
    """

    functions: tuple[Function, ...]  # the distinct ones
    frames: IntArray  # the function of each frame
    parents: IntArray  # -1 of the outermost
    own_ns: IntArray
    total_ns: IntArray
    counts: IntArray  # looks, or calls
    left_out: int = 0  # frames that took too little to be seen


class _Frames:
    """Frames by their parent and function, each once."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, Function], int] = {}
        self.own_ns: list[int] = []
        self.counts: list[int] = []

    def number(self, parent: int, function: Function) -> int:
        """The frame of a function that another frame calls."""
        key = (parent, function)
        if key not in self.known:
            self.known[key] = len(self.known)
            self.own_ns.append(0)
            self.counts.append(0)
        return self.known[key]


def flame_of(profiles: Iterable[Amounts], least_share: float = 0.0) -> Flame:
    """Merge profiles into one tree.

    Args:
        profiles: The time of the nodes of each profile.
        least_share: Frames with a smaller share of the total time are left out.
    """
    frames = _Frames()
    for amounts in profiles:
        _add(frames, amounts)
    parents = np.array([parent for parent, _ in frames.known], dtype=np.int64)
    own_ns = np.array(frames.own_ns, dtype=np.int64)
    total_ns = own_ns.copy()
    for frame in range(len(parents) - 1, -1, -1):
        if parents[frame] >= 0:
            total_ns[parents[frame]] += total_ns[frame]
    order = _order(parents, total_ns, least_share * float(own_ns.sum()))
    indices = np.full(len(parents) + 1, -1, dtype=np.int64)  # the last one is the parent of none
    indices[order] = np.arange(len(order))
    all_functions = [function for _, function in frames.known]
    numbers: dict[Function, int] = {}
    chosen = [numbers.setdefault(all_functions[item], len(numbers)) for item in order.tolist()]
    return Flame(
        tuple(numbers),
        np.array(chosen, dtype=np.int64),
        indices[parents[order]],
        own_ns[order],
        total_ns[order],
        np.array(frames.counts, dtype=np.int64)[order],
        len(parents) - len(order),
    )


def _add(frames: _Frames, amounts: Amounts) -> None:
    """What one profile saw; only frames that took something, and what leads to them."""
    tree = amounts.tree
    memory = np.zeros(len(tree.parents), dtype=np.int64)
    counts = np.zeros(len(tree.parents), dtype=np.int64)
    np.add.at(memory, amounts.nodes, amounts.ns)
    np.add.at(counts, amounts.nodes, amounts.counts)
    is_seen = tree.totals(counts) > 0
    frame_of: dict[int, int] = {-1: -1}
    for node in np.flatnonzero(is_seen).tolist():
        frame = frames.number(frame_of[tree.parents[node]], tree.function_at(node))
        frame_of[node] = frame
        frames.own_ns[frame] += int(memory[node])
        frames.counts[frame] += int(counts[node])


def _order(parents: IntArray, total_ns: IntArray, least_ns: float) -> IntArray:
    """Frames that are large enough, parents first, of brothers the largest first."""
    children: dict[int, list[int]] = {}
    for frame, parent in enumerate(parents.tolist()):
        if total_ns[frame] >= least_ns:
            children.setdefault(parent, []).append(frame)
    result: list[int] = []
    waiting = sorted(children.get(-1, []), key=lambda item: int(total_ns[item]))
    while waiting:
        frame = waiting.pop()
        result.append(frame)
        waiting += sorted(children.get(frame, []), key=lambda item: int(total_ns[item]))
    return np.array(result, dtype=np.int64)
