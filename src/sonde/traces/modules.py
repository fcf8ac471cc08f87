"""Find the module of the model that each operation belongs to.

Forward passes of modules are annotated. A backward operator belongs to the module of the forward
operator with the same sequence number. A device operation belongs to the module of the call that
launched it.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import IntArray
from sonde.traces.nesting import NO_PARENT

MODULE = "sonde.module."

_UNKNOWN = -1
_Marks = npt.NDArray[np.bool_]
_Texts = npt.NDArray[np.int32]


def find_modules(
    names: Sequence[str],
    name: _Texts,
    parents: IntArray,
    autograd: tuple[IntArray, IntArray, _Texts],
    launches: tuple[IntArray, _Marks],
) -> tuple[list[str], _Texts]:
    """All modules (the first is "no module"), and the module index of each operation.

    Args:
        names: All distinct names.
        name: The name index of each operation.
        parents: The enclosing operation of each operation.
        autograd: Start, sequence number and forward thread (of backward operators) of each.
        launches: The correlation of each, and whether it ran on a device.
    """
    modules = {"": 0}
    own_of_name = np.full(max(1, len(names)), _UNKNOWN, dtype=np.int32)
    for number, text in enumerate(names):
        if text.startswith(MODULE):
            own_of_name[number] = modules.setdefault(text.removeprefix(MODULE), len(modules))
    if len(modules) == 1:
        return [""], np.zeros(len(name), dtype=np.int32)
    direct = own_of_name[name]
    forward = _inherited(direct, parents)
    direct = np.where(direct == _UNKNOWN, _of_forward(forward, *autograd), direct)
    inherited = _inherited(direct, parents)
    _follow_launches(inherited, *launches)
    return list(modules), np.maximum(inherited, 0).astype(np.int32)


def _inherited(direct: _Texts, parents: IntArray) -> _Texts:
    """The module of each operation, or of the nearest enclosing operation with one."""
    modules = direct.copy()
    rows = np.flatnonzero((direct == _UNKNOWN) & (parents != NO_PARENT))
    enclosing = parents[rows]
    while len(rows):
        modules[rows] = direct[enclosing]
        enclosing = parents[enclosing]
        is_open = (modules[rows] == _UNKNOWN) & (enclosing != NO_PARENT)
        rows, enclosing = rows[is_open], enclosing[is_open]
    return modules


def _of_forward(
    modules: _Texts, starts: IntArray, sequence: IntArray, forward_thread: _Texts
) -> _Texts:
    """The module of the forward operator that each backward operator belongs to."""
    backward_modules = np.full(len(modules), _UNKNOWN, dtype=np.int32)
    has_number = sequence >= 0
    forward = np.flatnonzero(has_number & (forward_thread == 0))
    backward = np.flatnonzero(has_number & (forward_thread > 0))
    if len(forward) and len(backward):
        # the last operator with a number created the autograd node
        forward = forward[np.lexsort((starts[forward], sequence[forward]))]
        numbers = sequence[forward]
        indices = np.searchsorted(numbers, sequence[backward], side="right") - 1
        is_known = (indices >= 0) & (numbers[indices] == sequence[backward])
        backward_modules[backward[is_known]] = modules[forward[indices[is_known]]]
    return backward_modules


def _follow_launches(modules: _Texts, correlation: IntArray, is_device: _Marks) -> None:
    """Assign the module of a driver call to the device operation it launched."""
    calls = np.flatnonzero((correlation >= 0) & ~is_device)
    started = np.flatnonzero((correlation >= 0) & is_device)
    if not len(calls) or not len(started):
        return
    calls = calls[np.argsort(correlation[calls], kind="stable")]
    numbers = correlation[calls]
    indices = np.minimum(np.searchsorted(numbers, correlation[started]), len(calls) - 1)
    is_known = numbers[indices] == correlation[started]
    modules[started[is_known]] = modules[calls[indices[is_known]]]
