"""Which functions take the time: sums over a tree of calls.

A function's own time is what it spends at its own lines; its total is that of everything it calls,
too, counted once where it calls itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sonde.records.arrays import BoolArray, IntArray
from sonde.records.python_profile import Function, PythonProfile, PythonProfiler

_SECOND_NS = 1e9
_NOTHING = "built-in"


@dataclass(frozen=True)
class Tree:
    """The tree of calls of one profile; a parent comes before its children."""

    functions: tuple[Function, ...]
    parents: tuple[int, ...]
    node_functions: tuple[int, ...]
    node_lines: tuple[int, ...]

    def function_at(self, node: int) -> Function:
        """The function of a node."""
        return self.functions[self.node_functions[node]]

    @cached_property
    def locations(self) -> tuple[tuple[str, int], ...]:
        """File and line of every node; for built-in functions, those of the call."""
        result: list[tuple[str, int]] = []
        for node, parent in enumerate(self.parents):
            file, line = self.function_at(node).file, self.node_lines[node]
            if not file and parent >= 0:
                file = result[parent][0]
            result.append((file, line))
        return tuple(result)

    def totals(self, steps: IntArray) -> IntArray:
        """What each node and everything under it took."""
        total = steps.tolist()
        for node in range(len(total) - 1, -1, -1):
            if self.parents[node] >= 0:
                total[self.parents[node]] += total[node]
        return np.array(total, dtype=np.int64)

    def outermost(self, labels: Sequence[object]) -> BoolArray:
        """Which nodes have no other of the same label above them."""
        above: list[frozenset[object]] = []
        zeros = np.zeros(len(labels), dtype=np.bool_)
        for node, label in enumerate(labels):
            parent = self.parents[node]
            memory = above[parent] if parent >= 0 else frozenset()
            zeros[node] = label not in memory
            above.append(memory | {label} if zeros[node] else memory)
        return zeros


@dataclass(frozen=True)
class Amounts:
    """What the nodes of a tree took, row by row."""

    tree: Tree
    times: IntArray  # numbers of the profile's times
    threads: IntArray
    nodes: IntArray
    counts: IntArray
    ns: IntArray

    @classmethod
    def of(cls, profile: PythonProfile) -> "Amounts":
        """Everything in a profile; a row per look and thread, or per segment and node."""
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
            # of two clocks that are read one after the other, the difference may be below zero
            ns = np.maximum(np.array(profile.row_ns, dtype=np.int64), 0)
            return cls(tree, times, threads, nodes, counts, ns)
        instants = np.array([profile.start_ns, *profile.times_ns], dtype=np.int64)
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        inspections = np.repeat(times, counts) + np.arange(int(counts.sum())) - firsts
        threads, nodes = np.repeat(threads, counts), np.repeat(nodes, counts)
        return cls(
            tree,
            inspections,
            threads,
            nodes,
            np.ones_like(inspections),
            np.diff(instants)[inspections],
        )

    def take(self, which: BoolArray) -> "Amounts":
        """Some rows."""
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
        """All of it."""
        return float(self.ns.sum()) / _SECOND_NS


@dataclass(frozen=True, slots=True)
class Hot:
    """A function, a file or a module, and what it took."""

    label: Function | str
    file: str
    line: int  # the one that takes most, itself or in what it calls
    self_seconds: float
    total_seconds: float
    self_percent: float
    total_percent: float
    count: int  # looks, or calls

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.label.name if isinstance(self.label, Function) else self.label

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}" if self.file else _NOTHING


Label = Callable[[Tree, int], Function | str]


def of_function(tree: Tree, node: int) -> Function:
    """The key of a function; built-in functions are identified by name only."""
    return tree.function_at(node)


def of_file(tree: Tree, node: int) -> str:
    """The file; for built-in functions, that of the caller."""
    return tree.locations[node][0] or _NOTHING


def of_module(tree: Tree, node: int) -> str:
    """The package that was installed, or the file of the script's own code."""
    return module_of(tree.locations[node][0]) or _NOTHING


def module_of(file: str) -> str:
    """The name of the package that a file belongs to; the file itself if there is none."""
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in file:
            return file.rpartition(folder)[2].partition("/")[0].removesuffix(".py")
    sections = file.split("/")
    for index, section in enumerate(sections[:-1]):
        if section.startswith("python3") and index and sections[index - 1] in ("lib", "lib64"):
            return sections[index + 1].removesuffix(".py")
    return sections[-1].removesuffix(".py") if file.startswith("<") else sections[-1]


def short_file(file: str) -> str:
    """A file as people know it: inside of its package, or by its last two parts."""
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in file:
            return file.rpartition(folder)[2]
    return "/".join(file.split("/")[-2:]) if file.startswith("/") else file


class _Sum:
    """What comes together under one label."""

    __slots__ = ("count", "locations", "own_ns", "total_ns")

    def __init__(self) -> None:
        self.own_ns = self.total_ns = self.count = 0
        self.locations: dict[tuple[str, int], tuple[int, int]] = {}


def hot(profiles: Iterable[Amounts], label: Label = of_function) -> list[Hot]:
    """Everything that took time, what took most itself first."""
    sums: dict[Function | str, _Sum] = {}
    whole_ns = 0
    for amounts in profiles:
        whole_ns += int(amounts.ns.sum())
        _add(sums, amounts, label)
    results = [_hot(key, item, max(1, whole_ns)) for key, item in sums.items()]
    return sorted(
        results, key=lambda result: (-result.self_seconds, -result.total_seconds, result.name)
    )


def _add(sums: dict[Function | str, _Sum], amounts: Amounts, label: Label) -> None:
    tree, size = amounts.tree, len(amounts.tree.parents)
    memory = np.zeros(size, dtype=np.int64)
    counts = np.zeros(size, dtype=np.int64)
    np.add.at(memory, amounts.nodes, amounts.ns)
    np.add.at(counts, amounts.nodes, amounts.counts)
    totals, count = tree.totals(memory), tree.totals(counts)
    labels = [label(tree, node) for node in range(size)]
    outermost = tree.outermost(labels)
    for node in np.flatnonzero(count).tolist():
        item = sums.setdefault(labels[node], _Sum())
        item.own_ns += int(memory[node])
        item.count += int(counts[node])
        if outermost[node]:
            item.total_ns += int(totals[node])
        before = item.locations.get(tree.locations[node], (0, 0))
        now = (before[0] + int(memory[node]), before[1] + int(totals[node]))
        item.locations[tree.locations[node]] = now


def _hot(key: Function | str, item: _Sum, whole_ns: int) -> Hot:
    file, line = max(item.locations, key=lambda index: item.locations[index])
    return Hot(
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
class Compared:
    """A function in groups of steps: its own seconds and its total ones in a step of each group."""

    function: Function
    where: str
    self_seconds: tuple[float, ...]
    total_seconds: tuple[float, ...]


def compare(groups: Mapping[str, tuple[Sequence[Amounts], int]]) -> list[Compared]:
    """Compare functions between groups of steps; the largest difference first."""
    tables = {
        name: {item.label: item for item in hot(sections)} for name, (sections, _) in groups.items()
    }
    steps = [max(1, count) for _, count in groups.values()]
    results = []
    for label in dict.fromkeys(label for table in tables.values() for label in table):
        assert isinstance(label, Function)
        rows = [table.get(label) for table in tables.values()]
        memory = tuple(
            item.self_seconds / count if item else 0.0
            for item, count in zip(rows, steps, strict=True)
        )
        total = tuple(
            item.total_seconds / count if item else 0.0
            for item, count in zip(rows, steps, strict=True)
        )
        busiest = max((row for row in rows if row), key=lambda row: row.self_seconds)
        results.append(Compared(label, busiest.where, memory, total))
    return sorted(
        results, key=lambda result: -abs(result.self_seconds[0] - result.self_seconds[-1])
    )


def outlier_steps(durations: Mapping[int, float], factor: float) -> list[int]:
    """Steps that took much longer than the one in the middle."""
    if not durations:
        return []
    middle = float(np.median(list(durations.values())))
    return sorted(step for step, item in durations.items() if item > factor * middle)
