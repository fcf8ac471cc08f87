"""Which module of the model asked for an operation.

Forward passes of modules are annotated. A backward operator belongs to the module whose forward
operator has the same sequence number; what ran on a device, to that of the call that started it.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sonde.traces.nesting import NOBODY, Numbers

MODULE = "sonde.module."

_UNKNOWN = -1
_Marks = npt.NDArray[np.bool_]
_Texts = npt.NDArray[np.int32]


def find_modules(
    names: Sequence[str],
    name: _Texts,
    parents: Numbers,
    autograd: tuple[Numbers, Numbers, _Texts],
    launches: tuple[Numbers, _Marks],
) -> tuple[list[str], _Texts]:
    """All modules, the first being none, and the number of each operation's.

    Args:
        names: The texts of all names.
        name: The number of each operation's name.
        parents: What each runs inside of.
        autograd: Start, sequence number, and (of backward operators) the forward thread of each.
        launches: The correlation of each, and whether it ran on a device.
    """
    modules = {"": 0}
    own_of_name = np.full(max(1, len(names)), _UNKNOWN, dtype=np.int32)
    for number, text in enumerate(names):
        if text.startswith(MODULE):
            own_of_name[number] = modules.setdefault(text.removeprefix(MODULE), len(modules))
    if len(modules) == 1:
        return [""], np.zeros(len(name), dtype=np.int32)
    own = own_of_name[name]
    forward = _inherited(own, parents)
    own = np.where(own == _UNKNOWN, _of_forward(forward, *autograd), own)
    found = _inherited(own, parents)
    _follow_launches(found, *launches)
    return list(modules), np.maximum(found, 0).astype(np.int32)


def _inherited(own: _Texts, parents: Numbers) -> _Texts:
    """The module of each operation, or of the nearest around it that has one."""
    found = own.copy()
    rows = np.flatnonzero((own == _UNKNOWN) & (parents != NOBODY))
    around = parents[rows]
    while len(rows):
        found[rows] = own[around]
        around = parents[around]
        is_open = (found[rows] == _UNKNOWN) & (around != NOBODY)
        rows, around = rows[is_open], around[is_open]
    return found


def _of_forward(
    modules: _Texts, starts: Numbers, sequence: Numbers, forward_thread: _Texts
) -> _Texts:
    """The module of the forward operator that each backward operator belongs to."""
    found = np.full(len(modules), _UNKNOWN, dtype=np.int32)
    has_number = sequence >= 0
    forward = np.flatnonzero(has_number & (forward_thread == 0))
    backward = np.flatnonzero(has_number & (forward_thread > 0))
    if len(forward) and len(backward):
        # the last with a number made the node; those before it only looked at the counter
        forward = forward[np.lexsort((starts[forward], sequence[forward]))]
        numbers = sequence[forward]
        places = np.searchsorted(numbers, sequence[backward], side="right") - 1
        is_known = (places >= 0) & (numbers[places] == sequence[backward])
        found[backward[is_known]] = modules[forward[places[is_known]]]
    return found


def _follow_launches(modules: _Texts, correlation: Numbers, is_device: _Marks) -> None:
    """Gives what ran on a device the module of the call that started it."""
    calls = np.flatnonzero((correlation >= 0) & ~is_device)
    started = np.flatnonzero((correlation >= 0) & is_device)
    if not len(calls) or not len(started):
        return
    calls = calls[np.argsort(correlation[calls], kind="stable")]
    numbers = correlation[calls]
    places = np.minimum(np.searchsorted(numbers, correlation[started]), len(calls) - 1)
    is_known = numbers[places] == correlation[started]
    modules[started[is_known]] = modules[calls[places[is_known]]]
