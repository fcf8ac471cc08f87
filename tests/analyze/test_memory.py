"""Memory in stretches of time: what was allocated, freed, live and highest."""

import numpy as np

from sonde.analyze.memory import Changes, ModuleUse, Use, use_by_module, use_of


def changes(*sizes: int, held: tuple[int, ...] = ()) -> Changes:
    """One change per nanosecond."""
    indices = np.arange(len(sizes), dtype=np.int64)
    return Changes(indices, np.array(sizes, dtype=np.int64), np.isin(indices, held))


def numbers(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def test_a_stretch_knows_its_peak_and_what_it_leaves() -> None:
    use = use_of(changes(10, 5, -10, 7, -2), numbers(0, 3), numbers(3, 5))

    assert use == [Use(15, 10, 5, 15), Use(7, 2, 10, 12)]


def test_what_was_live_before_counts_for_a_stretch_that_only_frees() -> None:
    [result] = use_of(changes(10, -10), numbers(1), numbers(2))

    assert result == Use(0, 10, 0, 10)


def test_where_nothing_changes_nothing_is_used() -> None:
    assert use_of(changes(), numbers(0), numbers(9)) == [Use(0, 0, 0, 0)]
    assert use_by_module(changes(), (), numbers(), []) == []


def test_modules_that_hold_most_come_first_and_changes_count_once() -> None:
    values = changes(10, 20, -20, 5, held=(0,))
    outer, inner = Use(35, 20, 15, 30), Use(20, 20, 10, 30)

    result = use_by_module(values, ("inner", "outer"), numbers(1, 0, 0, -1), [inner, outer])

    assert result == [
        ModuleUse("outer", 1, 10, 0, 10, 10, 30),
        ModuleUse("inner", 1, 20, 20, 0, 0, 30),
    ]
