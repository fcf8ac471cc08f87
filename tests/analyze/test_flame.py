"""Flame graphs of several profiles."""

import numpy as np

from sonde.analyze.flame import Flame, flame_of
from sonde.analyze.python_profile import NodeTimes, Tree
from sonde.records.python_profile import Function

MAIN, STEP, LOSS = Function("main", "a.py", 1), Function("step", "a.py", 9), Function("loss")


def profile(nodes: list[tuple[int, Function, int]]) -> NodeTimes:
    """Build a profile from nodes as (parent, function, self time)."""
    functions = tuple(dict.fromkeys(function for _, function, _ in nodes))
    tree = Tree(
        functions,
        tuple(parent for parent, _, _ in nodes),
        tuple(functions.index(function) for _, function, _ in nodes),
        tuple(range(len(nodes))),
    )
    rows = [(index, ns) for index, (_, _, ns) in enumerate(nodes) if ns]
    indices, times = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    zero = np.zeros_like(indices)
    return NodeTimes(tree, zero, zero, indices, np.ones_like(indices), times)


def rows_of(flame: Flame) -> list[tuple[str, int, int, int]]:
    names = [flame.functions[frame].name for frame in flame.frames.tolist()]
    columns = (flame.parents.tolist(), flame.own_ns.tolist(), flame.total_ns.tolist())
    return list(zip(names, *columns, strict=True))


def test_a_function_with_the_same_callers_is_one_frame() -> None:
    first = profile([(-1, MAIN, 1), (0, STEP, 20), (0, STEP, 5), (0, LOSS, 2)])
    second = profile([(-1, MAIN, 0), (0, LOSS, 30)])
    assert rows_of(flame_of([first, second])) == [
        ("main", -1, 1, 58),
        ("loss", 0, 32, 32),
        ("step", 0, 25, 25),
    ]


def test_a_recursive_call_is_a_frame_of_its_own() -> None:
    flame = flame_of([profile([(-1, MAIN, 1), (0, MAIN, 2)])])
    assert rows_of(flame) == [("main", -1, 1, 3), ("main", 0, 2, 2)]
    assert flame.functions == (MAIN,)


def test_frames_below_the_minimum_share_are_counted_as_left_out() -> None:
    flame = flame_of([profile([(-1, MAIN, 990), (0, STEP, 8), (1, LOSS, 2)])], min_share=0.005)
    assert rows_of(flame) == [("main", -1, 990, 1000), ("step", 0, 8, 10)]
    assert flame.left_out == 1


def test_a_flame_graph_without_samples_is_empty() -> None:
    assert rows_of(flame_of([])) == []
    assert rows_of(flame_of([profile([(-1, MAIN, 0)])])) == []
