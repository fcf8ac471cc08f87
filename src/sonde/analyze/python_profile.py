"""Self and total times of functions, from a call tree.

Self time is time without callees. Total time includes callees; recursive calls count once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sonde.records.arrays import BoolArray, IntArray
from sonde.records.python_profile import Function, PythonProfile, PythonProfiler

_SECOND_NS = 1e9
_BUILT_IN = "built-in"


@dataclass(frozen=True)
class Tree:
    """The call tree of one profile; parents come before their children."""

    functions: tuple[Function, ...]
    parents: tuple[int, ...]
    node_functions: tuple[int, ...]
    node_lines: tuple[int, ...]

    def function_at(self, node: int) -> Function:
        """Return the function of a node."""
        return self.functions[self.node_functions[node]]

    @cached_property
    def locations(self) -> tuple[tuple[str, int], ...]:
        """File and line of each node; for built-in functions, those of the call."""
        result: list[tuple[str, int]] = []
        for node, parent in enumerate(self.parents):
            file, line = self.function_at(node).file, self.node_lines[node]
            if not file and parent >= 0:
                file = result[parent][0]
            result.append((file, line))
        return tuple(result)

    def totals(self, values: IntArray) -> IntArray:
        """Return the sum of values over each node and its descendants."""
        totals = values.tolist()
        for node in range(len(totals) - 1, -1, -1):
            if self.parents[node] >= 0:
                totals[self.parents[node]] += totals[node]
        return np.array(totals, dtype=np.int64)

    def outermost(self, labels: Sequence[object]) -> BoolArray:
        """Return which nodes have no ancestor with the same label."""
        path_labels: list[frozenset[object]] = []
        result = np.zeros(len(labels), dtype=np.bool_)
        for node, label in enumerate(labels):
            parent = self.parents[node]
            ancestors = path_labels[parent] if parent >= 0 else frozenset()
            result[node] = label not in ancestors
            path_labels.append(ancestors | {label} if result[node] else ancestors)
        return result


@dataclass(frozen=True)
class NodeTimes:
    """Times and counts of the nodes of a call tree, as columns."""

    tree: Tree
    times: IntArray  # indices of the profile's times
    threads: IntArray
    nodes: IntArray
    counts: IntArray
    ns: IntArray

    @classmethod
    def of(cls, profile: PythonProfile) -> "NodeTimes":
        """Convert a profile: one row per sample and thread, or per segment and node."""
        tree = Tree(profile.functions, profile.parents, profile.node_functions, profile.node_lines)
        times, threads, nodes, counts = (
            np.array(column, dtype=np.int64)
            for column in (
                profile.row_times,
                profile.row_threads,
                profile.row_nodes,
                profile.row_counts,
            )
        )
        if profile.profiler is PythonProfiler.CPROFILE:
            # the difference of two clocks read one after the other may be negative
            ns = np.maximum(np.array(profile.row_ns, dtype=np.int64), 0)
            return cls(tree, times, threads, nodes, counts, ns)
        instants = np.array([profile.start_ns, *profile.times_ns], dtype=np.int64)
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        samples = np.repeat(times, counts) + np.arange(int(counts.sum())) - firsts
        threads, nodes = np.repeat(threads, counts), np.repeat(nodes, counts)
        ns = np.diff(instants)[samples]
        return cls(tree, samples, threads, nodes, np.ones_like(samples), ns)

    def take(self, which: BoolArray) -> "NodeTimes":
        """Return the selected rows."""
        return replace(
            self,
            times=self.times[which],
            threads=self.threads[which],
            nodes=self.nodes[which],
            counts=self.counts[which],
            ns=self.ns[which],
        )

    @property
    def seconds(self) -> float:
        """The sum of all times."""
        return float(self.ns.sum()) / _SECOND_NS


@dataclass(frozen=True, slots=True)
class HotSpot:
    """Self and total time of a function, a file or a module."""

    label: Function | str
    file: str
    line: int  # the line with the most self time
    self_seconds: float
    total_seconds: float
    self_percent: float
    total_percent: float
    count: int  # samples or calls

    @property
    def name(self) -> str:
        """The name to show."""
        return self.label.name if isinstance(self.label, Function) else self.label

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}" if self.file else _BUILT_IN


Label = Callable[[Tree, int], Function | str]


def of_function(tree: Tree, node: int) -> Function:
    """Return the function of a node; built-in functions are identified by name only."""
    return tree.function_at(node)


def of_file(tree: Tree, node: int) -> str:
    """Return the file of a node; for built-in functions, the file of the caller."""
    return tree.locations[node][0] or _BUILT_IN


def of_module(tree: Tree, node: int) -> str:
    """Return the installed package of a node, or the file of the script's own code."""
    return module_of(tree.locations[node][0]) or _BUILT_IN


def module_of(file: str) -> str:
    """Return the package that a file belongs to; the file name if there is none."""
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in file:
            return file.rpartition(folder)[2].partition("/")[0].removesuffix(".py")
    segments = file.split("/")
    for index, segment in enumerate(segments[:-1]):
        if segment.startswith("python3") and index and segments[index - 1] in ("lib", "lib64"):
            return segments[index + 1].removesuffix(".py")
    return segments[-1].removesuffix(".py") if file.startswith("<") else segments[-1]


def short_file(file: str) -> str:
    """Return the path of a file within its package, or its last two segments."""
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in file:
            return file.rpartition(folder)[2]
    return "/".join(file.split("/")[-2:]) if file.startswith("/") else file


class _Sum:
    """The times of one label."""

    __slots__ = ("count", "locations", "own_ns", "total_ns")

    def __init__(self) -> None:
        self.own_ns = self.total_ns = self.count = 0
        self.locations: dict[tuple[str, int], tuple[int, int]] = {}


def hot_spots(profiles: Iterable[NodeTimes], label: Label = of_function) -> list[HotSpot]:
    """Return all functions, files or modules with their times, largest self time first."""
    sums: dict[Function | str, _Sum] = {}
    whole_ns = 0
    for node_times in profiles:
        whole_ns += int(node_times.ns.sum())
        _add(sums, node_times, label)
    results = [_hot_spot(key, item, max(1, whole_ns)) for key, item in sums.items()]
    return sorted(
        results, key=lambda result: (-result.self_seconds, -result.total_seconds, result.name)
    )


def _add(sums: dict[Function | str, _Sum], node_times: NodeTimes, label: Label) -> None:
    tree, size = node_times.tree, len(node_times.tree.parents)
    own_ns = np.zeros(size, dtype=np.int64)
    counts = np.zeros(size, dtype=np.int64)
    np.add.at(own_ns, node_times.nodes, node_times.ns)
    np.add.at(counts, node_times.nodes, node_times.counts)
    total_ns, total_counts = tree.totals(own_ns), tree.totals(counts)
    labels = [label(tree, node) for node in range(size)]
    outermost = tree.outermost(labels)
    for node in np.flatnonzero(total_counts).tolist():
        item = sums.setdefault(labels[node], _Sum())
        item.own_ns += int(own_ns[node])
        item.count += int(counts[node])
        if outermost[node]:
            item.total_ns += int(total_ns[node])
        location = tree.locations[node]
        line_own_ns, line_total_ns = item.locations.get(location, (0, 0))
        item.locations[location] = (
            line_own_ns + int(own_ns[node]),
            line_total_ns + int(total_ns[node]),
        )


def _hot_spot(key: Function | str, item: _Sum, whole_ns: int) -> HotSpot:
    file, line = max(item.locations, key=lambda location: item.locations[location])
    return HotSpot(
        label=key,
        file=file,
        line=line,
        self_seconds=item.own_ns / _SECOND_NS,
        total_seconds=item.total_ns / _SECOND_NS,
        self_percent=100 * item.own_ns / whole_ns,
        total_percent=100 * item.total_ns / whole_ns,
        count=item.count,
    )


@dataclass(frozen=True, slots=True)
class FunctionComparison:
    """Self and total seconds of a function per step, for each group of steps."""

    function: Function
    where: str
    self_seconds: tuple[float, ...]
    total_seconds: tuple[float, ...]


def compare_functions(
    groups: Mapping[str, tuple[Sequence[NodeTimes], int]],
) -> list[FunctionComparison]:
    """Compare functions between groups of steps; the largest difference first."""
    tables = {
        name: {item.label: item for item in hot_spots(profiles)}
        for name, (profiles, _) in groups.items()
    }
    steps = [max(1, count) for _, count in groups.values()]
    results = []
    for label in dict.fromkeys(label for table in tables.values() for label in table):
        assert isinstance(label, Function)
        rows = [table.get(label) for table in tables.values()]
        self_seconds = tuple(
            row.self_seconds / count if row else 0.0 for row, count in zip(rows, steps, strict=True)
        )
        total_seconds = tuple(
            row.total_seconds / count if row else 0.0
            for row, count in zip(rows, steps, strict=True)
        )
        busiest = max((row for row in rows if row), key=lambda row: row.self_seconds)
        results.append(FunctionComparison(label, busiest.where, self_seconds, total_seconds))
    return sorted(
        results, key=lambda result: -abs(result.self_seconds[0] - result.self_seconds[-1])
    )
