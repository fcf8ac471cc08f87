"""A call tree from the statistics of cProfile, which only know the callers of each function."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sonde.clock import NANOSECONDS
from sonde.records.python_profile import Function

_MAX_NODES = 20_000
_MAX_CALLS, _MAX_SECONDS = 1 << 53, 1e9
_MIN_SHARE = 1e-4  # smaller nodes are not divided further

Edge = tuple[int, float, float]  # calls, seconds without and with callees


@dataclass(frozen=True, slots=True)
class FunctionTimes:
    """The statistics of one function: in total, and by caller."""

    total: Edge
    callers: Mapping[Function, Edge]


@dataclass(slots=True)
class CallTree:
    """Nodes as columns; parents come before their children."""

    functions: dict[Function, int] = field(default_factory=dict)  # with their numbers
    parents: list[int] = field(default_factory=list)
    node_functions: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    self_ns: list[int] = field(default_factory=list)

    def add(self, function: Function, parent: int, calls: float, seconds: float) -> int:
        """Add a node and return its number."""
        number = self.functions.setdefault(function, len(self.functions))
        self.parents.append(parent)
        self.node_functions.append(number)
        self.calls.append(round(calls))
        self.self_ns.append(max(round(seconds * NANOSECONDS), 0))
        return len(self.parents) - 1


def parse_statistics(value: Any) -> dict[Function, FunctionTimes]:
    """The statistics in a decoded file.

    Raises:
        ValueError: They have another form.
    """
    try:
        return {
            _function(name): FunctionTimes(
                _edge(times[1:4]),
                {
                    _function(caller): _edge((edge[0], *edge[2:4]))
                    for caller, edge in times[4].items()
                },
            )
            for name, times in value.items()
        }
    except (AttributeError, IndexError, TypeError, OverflowError) as error:
        raise ValueError("has no statistics of functions") from error


def tree_of(times: Mapping[Function, FunctionTimes]) -> CallTree:
    """Divide the time of each function over its callers, from the outermost functions on.

    The time of a function in one caller is divided in the proportions of the callers' own times.
    The sum over all nodes of a function is exact; recursive and very small calls are not divided.
    """
    callees: dict[Function, list[tuple[Function, Edge]]] = {}
    for function, each in times.items():
        for caller, edge in each.callers.items():
            callees.setdefault(caller, []).append((function, edge))
    tree = CallTree()
    smallest = _MIN_SHARE * sum(each.total[1] for each in times.values())
    waiting: list[tuple[Function, int, Edge, frozenset[Function]]] = [
        (function, -1, each.total, frozenset())
        for function, each in times.items()
        if not each.callers
    ]
    for function, parent, (calls, own, total), above in waiting:
        node = tree.add(function, parent, calls, own)
        if total < smallest or len(waiting) > _MAX_NODES:
            continue
        for callee, edge in callees.get(function, ()):
            if callee not in above and callee != function:
                share = _share(total, times[function].total[2] if function in times else 0.0)
                part = (round(edge[0] * share), edge[1] * share, edge[2] * share)
                waiting.append((callee, node, part, above | {function}))
    _add_remainders(tree, times)
    return tree


def _add_remainders(tree: CallTree, times: Mapping[Function, FunctionTimes]) -> None:
    """Add the time of functions that no node has, so that sums by function are exact."""
    assigned: dict[int, tuple[int, int]] = {}
    for number, calls, self_ns in zip(tree.node_functions, tree.calls, tree.self_ns, strict=True):
        counted, seconds_ns = assigned.get(number, (0, 0))
        assigned[number] = counted + calls, seconds_ns + self_ns
    for function, each in times.items():
        counted, self_ns = assigned.get(tree.functions.get(function, -1), (0, 0))
        seconds = each.total[1] - self_ns / NANOSECONDS
        calls = each.total[0] - counted
        if calls > 0 or seconds * NANOSECONDS >= 1:
            tree.add(function, -1, max(calls, 0), seconds)


def _share(seconds: float, total: float) -> float:
    return min(seconds / total, 1.0) if total > 0 else 1.0


def _edge(times: Any) -> Edge:
    calls, own, total = int(times[0]), float(times[1]), float(times[2])
    if not (0 <= calls < _MAX_CALLS and 0 <= own < _MAX_SECONDS and 0 <= total < _MAX_SECONDS):
        raise ValueError("has impossible times")
    return calls, own, total


def _function(name: Any) -> Function:
    file, line, function = name
    if file == "~":  # built-in
        return Function(str(function))
    return Function(str(function), str(file), int(line))
