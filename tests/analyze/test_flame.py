"""Trees of calls of several profiles become one."""

import numpy as np

from sonde.analyze.flame import Flame, flame_of
from sonde.analyze.python_profile import Amounts, Tree
from sonde.records.python_profile import Function

MAIN, STEP, LOSS = Function("main", "a.py", 1), Function("step", "a.py", 9), Function("loss")


def part(nodes: list[tuple[int, Function, int]]) -> Amounts:
    """Nodes as (parent, function, own time)."""
    functions = tuple(dict.fromkeys(function for _, function, _ in nodes))
    tree = Tree(
        functions,
        tuple(parent for parent, _, _ in nodes),
        tuple(functions.index(function) for _, function, _ in nodes),
        tuple(range(len(nodes))),
    )
    taken = [(place, ns) for place, (_, _, ns) in enumerate(nodes) if ns]
    places, times = np.array(taken, dtype=np.int64).reshape(-1, 2).T
    nought = np.zeros_like(places)
    return Amounts(tree, nought, nought, places, np.ones_like(places), times)


def told(flame: Flame) -> list[tuple[str, int, int, int]]:
    names = [flame.functions[one].name for one in flame.frames.tolist()]
    columns = (flame.parents.tolist(), flame.own_ns.tolist(), flame.total_ns.tolist())
    return list(zip(names, *columns, strict=True))


def test_what_is_called_from_the_same_place_is_one_frame() -> None:
    first = part([(-1, MAIN, 1), (0, STEP, 20), (0, STEP, 5), (0, LOSS, 2)])
    second = part([(-1, MAIN, 0), (0, LOSS, 30)])
    assert told(flame_of([first, second])) == [
        ("main", -1, 1, 58),
        ("loss", 0, 32, 32),
        ("step", 0, 25, 25),
    ]


def test_a_function_that_calls_itself_is_a_frame_below_its_own() -> None:
    found = flame_of([part([(-1, MAIN, 1), (0, MAIN, 2)])])
    assert told(found) == [("main", -1, 1, 3), ("main", 0, 2, 2)]
    assert found.functions == (MAIN,)


def test_frames_too_small_to_be_seen_are_left_out_and_counted() -> None:
    found = flame_of([part([(-1, MAIN, 990), (0, STEP, 8), (1, LOSS, 2)])], least_share=0.005)
    assert told(found) == [("main", -1, 990, 1000), ("step", 0, 8, 10)]
    assert found.left_out == 1


def test_nothing_is_an_empty_tree() -> None:
    assert told(flame_of([])) == []
    assert told(flame_of([part([(-1, MAIN, 0)])])) == []
