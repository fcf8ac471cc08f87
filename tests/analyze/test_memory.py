"""Memory use by time interval and by module."""

import numpy as np

from sonde.analyze.memory import MemoryChanges, MemoryUse, ModuleUse, use_by_interval, use_by_module


def changes(*sizes: int, held: tuple[int, ...] = ()) -> MemoryChanges:
    """Return one change per nanosecond."""
    indices = np.arange(len(sizes), dtype=np.int64)
    return MemoryChanges(indices, np.array(sizes, dtype=np.int64), np.isin(indices, held))


def numbers(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def test_an_interval_has_peak_and_live_bytes() -> None:
    use = use_by_interval(changes(10, 5, -10, 7, -2), numbers(0, 3), numbers(3, 5))

    assert use == [MemoryUse(15, 10, 5, 15), MemoryUse(7, 2, 10, 12)]


def test_memory_live_before_an_interval_counts_for_its_peak() -> None:
    [result] = use_by_interval(changes(10, -10), numbers(1), numbers(2))

    assert result == MemoryUse(0, 10, 0, 10)


def test_an_interval_without_changes_uses_no_memory() -> None:
    assert use_by_interval(changes(), numbers(0), numbers(9)) == [MemoryUse(0, 0, 0, 0)]
    assert use_by_module(changes(), (), numbers(), []) == []


def test_modules_are_sorted_by_held_bytes_and_changes_count_once() -> None:
    values = changes(10, 20, -20, 5, held=(0,))
    outer, inner = MemoryUse(35, 20, 15, 30), MemoryUse(20, 20, 10, 30)

    result = use_by_module(values, ("inner", "outer"), numbers(1, 0, 0, -1), [inner, outer])

    assert result == [
        ModuleUse("outer", 1, 10, 0, 10, 10, 30),
        ModuleUse("inner", 1, 20, 20, 0, 0, 30),
    ]
