"""Merge the call trees of several profiles: callers, callees and their times."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sonde.analyze.python_profile import NodeTimes
from sonde.records.arrays import IntArray
from sonde.records.python_profile import Function


@dataclass(frozen=True)
class Flame:
    """A flame graph: one frame per function and call path; parents come before their children.

    The lines of a function are merged. Siblings are sorted by total time, largest first.
    """

    functions: tuple[Function, ...]  # distinct functions
    frames: IntArray  # index of the function of each frame
    parents: IntArray  # -1 for outermost frames
    own_ns: IntArray
    total_ns: IntArray
    counts: IntArray  # samples or calls
    left_out: int = 0  # frames below the minimum share


class _Frames:
    """Distinct frames by parent and function."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[int, Function], int] = {}
        self.own_ns: list[int] = []
        self.counts: list[int] = []

    def number(self, parent: int, function: Function) -> int:
        """Return the frame number of a function with a parent frame; add it if it is new."""
        key = (parent, function)
        if key not in self.numbers:
            self.numbers[key] = len(self.numbers)
            self.own_ns.append(0)
            self.counts.append(0)
        return self.numbers[key]


def flame_of(profiles: Iterable[NodeTimes], min_share: float = 0.0) -> Flame:
    """Merge profiles into one flame graph.

    Args:
        profiles: The time of the nodes of each profile.
        min_share: Frames with a smaller share of the total time are left out.
    """
    frames = _Frames()
    for node_times in profiles:
        _add(frames, node_times)
    parents = np.array([parent for parent, _ in frames.numbers], dtype=np.int64)
    own_ns = np.array(frames.own_ns, dtype=np.int64)
    total_ns = own_ns.copy()
    for frame in range(len(parents) - 1, -1, -1):
        if parents[frame] >= 0:
            total_ns[parents[frame]] += total_ns[frame]
    order = _order(parents, total_ns, min_share * float(own_ns.sum()))
    indices = np.full(len(parents) + 1, -1, dtype=np.int64)  # the last entry maps -1 to -1
    indices[order] = np.arange(len(order))
    functions = [function for _, function in frames.numbers]
    numbers: dict[Function, int] = {}
    frame_functions = [
        numbers.setdefault(functions[frame], len(numbers)) for frame in order.tolist()
    ]
    return Flame(
        tuple(numbers),
        np.array(frame_functions, dtype=np.int64),
        indices[parents[order]],
        own_ns[order],
        total_ns[order],
        np.array(frames.counts, dtype=np.int64)[order],
        len(parents) - len(order),
    )


def _add(frames: _Frames, node_times: NodeTimes) -> None:
    """Add one profile: frames with a count, and the frames that lead to them."""
    tree = node_times.tree
    own_ns = np.zeros(len(tree.parents), dtype=np.int64)
    counts = np.zeros(len(tree.parents), dtype=np.int64)
    np.add.at(own_ns, node_times.nodes, node_times.ns)
    np.add.at(counts, node_times.nodes, node_times.counts)
    is_counted = tree.totals(counts) > 0
    frame_by_node: dict[int, int] = {-1: -1}
    for node in np.flatnonzero(is_counted).tolist():
        frame = frames.number(frame_by_node[tree.parents[node]], tree.function_at(node))
        frame_by_node[node] = frame
        frames.own_ns[frame] += int(own_ns[node])
        frames.counts[frame] += int(counts[node])


def _order(parents: IntArray, total_ns: IntArray, min_ns: float) -> IntArray:
    """Return frames with a minimum time, parents first and siblings by time, largest first."""
    children: dict[int, list[int]] = {}
    for frame, parent in enumerate(parents.tolist()):
        if total_ns[frame] >= min_ns:
            children.setdefault(parent, []).append(frame)
    result: list[int] = []
    stack = sorted(children.get(-1, []), key=lambda frame: int(total_ns[frame]))
    while stack:
        frame = stack.pop()
        result.append(frame)
        stack += sorted(children.get(frame, []), key=lambda child: int(total_ns[child]))
    return np.array(result, dtype=np.int64)
