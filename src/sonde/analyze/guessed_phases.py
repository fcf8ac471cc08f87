"""Phases of a window that nobody has recorded, told from the names that PyTorch gives its work.

Recordings of others have no phases, but the profiler's own names: the loader's next batch, an
optimizer's step, and the functions of the backward pass. What lies before a backward pass, back to
the last of those, is the forward pass.
"""

import numpy as np

from sonde.analyze.operations import Operations, Phases
from sonde.records.profile import OperationCategory
from sonde.records.step import Phase

_BACKWARD = "autograd::engine::evaluate_function"
_NAMED = (
    ("enumerate(DataLoader)", Phase.DATA_WAIT.value),
    ("Optimizer.step", Phase.OPTIMIZER.value),
    ("ProfilerStep", ""),
)


def guess_phases(operations: Operations) -> Phases:
    """What can be told; nothing where no backward pass was seen."""
    marks = _named_stretches(operations)
    marks += _backward_stretches(operations, sorted(start for _, start, _ in marks))
    marks += _forward_stretches(operations, marks)
    found = [one for one in marks if one[0]]
    return Phases(
        tuple(name for name, _, _ in found),
        np.array([start for _, start, _ in found], dtype=np.int64),
        np.array([end for _, _, end in found], dtype=np.int64),
    )


_Stretch = tuple[str, int, int]


def _named_stretches(operations: Operations) -> list[_Stretch]:
    is_name = operations.categories.are_in({OperationCategory.ANNOTATION.value})
    is_name &= operations.devices.are_in({"cpu"})
    found = []
    for row in np.flatnonzero(is_name).tolist():
        for prefix, phase in _NAMED:
            if operations.names[row].startswith(prefix):
                start = int(operations.starts_ns[row])
                # a step only says where something new begins
                end = start if prefix == "ProfilerStep" else int(operations.ends_ns[row])
                found.append((phase, start, end))
    return found


def _backward_stretches(operations: Operations, breaks: list[int]) -> list[_Stretch]:
    """From the first function of a backward pass to the last before something else begins."""
    rows = np.flatnonzero(operations.names.where(lambda name: name.startswith(_BACKWARD)))
    if not len(rows):
        return []
    rows = rows[np.argsort(operations.starts_ns[rows], kind="stable")]
    starts, ends = operations.starts_ns[rows], operations.ends_ns[rows]
    passes = np.searchsorted(np.array(breaks, dtype=np.int64), starts, side="right")
    return [
        (Phase.BACKWARD.value, int(starts[passes == one].min()), int(ends[passes == one].max()))
        for one in np.unique(passes).tolist()
    ]


def _forward_stretches(operations: Operations, marks: list[_Stretch]) -> list[_Stretch]:
    found = []
    first = int(operations.starts_ns.min()) if len(operations) else 0
    for phase, start, _ in marks:
        if phase == Phase.BACKWARD.value:
            before = [end for _, _, end in marks if end <= start]
            found.append((Phase.FORWARD.value, max(before, default=first), start))
    return found
