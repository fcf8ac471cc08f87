"""Turn sampled stacks into calls on the timeline: a frame in consecutive samples is one call."""

import json
from collections.abc import Iterator

from sonde.hook.profilers._python_tree import TRAINING
from sonde.records.profile import NO_CORRELATION, OperationCategory
from sonde.records.python_profile import PythonProfile

_MAX_SLICES = 50_000
_LANE = "python"
_DEVICE = "cpu"

Row = tuple[str, str, str, str, int, int, int, int, str, str]
_Run = tuple[int, int, int]  # start, end, and the node


class _OpenCall:
    """A call that has not ended yet."""

    __slots__ = ("function", "inner_ns", "start_ns")

    def __init__(self, function: int, start_ns: int) -> None:
        self.function = function
        self.start_ns = start_ns
        self.inner_ns = 0  # time of finished calls inside it


def slices(profile: PythonProfile) -> Iterator[Row]:
    """Rows of operations, thread by thread, up to a limit."""
    remaining = _MAX_SLICES
    for number, thread in enumerate(profile.threads):
        lane = _LANE if thread == TRAINING else f"{_LANE} {thread}"
        for start_ns, end_ns, self_ns, function in _calls(profile, number):
            if not remaining:
                return
            remaining -= 1
            callee = profile.functions[function]
            location = {"file": callee.file, "line": callee.line}
            detail = json.dumps(location, separators=(",", ":"))
            numbers = (start_ns, end_ns - start_ns, self_ns, NO_CORRELATION)
            yield (callee.name, OperationCategory.PYTHON.value, lane, _DEVICE, *numbers, "", detail)


def _calls(profile: PythonProfile, thread: int) -> Iterator[tuple[int, int, int, int]]:
    """Start, end, self time and function of each call, in the order in which they end."""
    paths = _paths(profile)
    stack: list[_OpenCall] = []
    last_ns = 0
    for start_ns, end_ns, node in _runs(profile, thread):
        path = paths[node]
        shared = 0
        if start_ns == last_ns:
            while shared < min(len(stack), len(path)) and stack[shared].function == path[shared]:
                shared += 1
        while len(stack) > shared:
            yield _close(stack, last_ns)
        stack += [_OpenCall(function, start_ns) for function in path[shared:]]
        last_ns = end_ns
    while stack:
        yield _close(stack, last_ns)


def _close(stack: list[_OpenCall], end_ns: int) -> tuple[int, int, int, int]:
    call = stack.pop()
    length_ns = end_ns - call.start_ns
    if stack:
        stack[-1].inner_ns += length_ns
    return call.start_ns, end_ns, length_ns - call.inner_ns, call.function


def _runs(profile: PythonProfile, thread: int) -> Iterator[_Run]:
    instants = (profile.start_ns, *profile.times_ns)
    rows = zip(
        *(profile.row_times, profile.row_threads, profile.row_nodes, profile.row_counts),
        strict=True,
    )
    for first, row_thread, node, samples in rows:
        if row_thread == thread:
            yield instants[first], instants[first + samples], node


def _paths(profile: PythonProfile) -> list[tuple[int, ...]]:
    """The functions on the path to each node, outermost first."""
    paths: list[tuple[int, ...]] = []
    for parent, function in zip(profile.parents, profile.node_functions, strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), function))
    return paths
