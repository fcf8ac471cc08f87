"""Find the function of a script, outside the framework, that takes most of the step time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.analyze.python_profile import NodeTimes, Tree, module_of, short_file
from sonde.records.python_profile import Function

# functions called from these files are part of the model
_FRAMEWORK = "-packages/torch/"
_MODEL = tuple(
    f"{_FRAMEWORK}{item}"
    for item in ("nn/modules/", "autograd/", "optim/", "_dynamo/", "_tensor.py")
)
_INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen")
_MODULE_LEVEL = "<module>"


@dataclass(frozen=True, slots=True)
class HotFunction:
    """A function, including its callees outside the framework."""

    name: str
    file: str
    line: int  # the line that takes the most time
    share: float  # of the total time
    seconds: float


def hot_function(profiles: Sequence[NodeTimes], min_share: float) -> HotFunction | None:
    """Return the innermost function of the script that takes at least a minimum share, or None.

    Functions that call the model, its backward pass or its optimizer do not count: their time is
    training time.
    """
    totals: dict[Function, int] = {}
    lines: dict[Function, dict[int, int]] = {}
    depths: dict[Function, int] = {}
    training: set[Function] = set()
    total = 0
    for node_times in profiles:
        own_ns = np.zeros(len(node_times.tree.parents), dtype=np.int64)
        np.add.at(own_ns, node_times.nodes, node_times.ns)
        total += int(own_ns.sum())
        charged = _charged(node_times.tree, training)
        for node in np.flatnonzero(own_ns).tolist():
            for depth, (function, line) in enumerate(charged[node].items()):
                depths[function] = max(depth, depths.get(function, 0))
                totals[function] = totals.get(function, 0) + int(own_ns[node])
                line_totals = lines.setdefault(function, {})
                line_totals[line] = line_totals.get(line, 0) + int(own_ns[node])
    candidates = {
        function: spent
        for function, spent in totals.items()
        if spent >= min_share * total
        and function not in training
        and function.name != _MODULE_LEVEL
    }
    if not candidates:
        return None
    result = min(
        candidates, key=lambda function: (candidates[function], -depths[function], function)
    )
    line = max(lines[result], key=lambda line: lines[result][line])
    spent = candidates[result]
    return HotFunction(result.name, short_file(result.file), line, spent / total, spent / 1e9)


def _charged(tree: Tree, training: set[Function]) -> list[dict[Function, int]]:
    """Return, per node, the functions that its time counts for, with the line of each."""
    charged: list[dict[Function, int]] = []
    is_model: list[bool] = []
    for node, parent in enumerate(tree.parents):
        above = charged[parent] if parent >= 0 else {}
        function, file = tree.function_at(node), tree.function_at(node).file
        in_model = bool(parent >= 0 and is_model[parent])
        if any(item in file for item in _MODEL):
            training.update(above)
            in_model = True
        is_model.append(in_model)
        if in_model or _FRAMEWORK in file:
            charged.append({})
        elif _is_own(file):
            charged.append({**above, function: tree.node_lines[node]})
        else:
            charged.append(above)
    return charged


def _is_own(file: str) -> bool:
    """Whether a file belongs to the script, not to an installed package."""
    is_installed = any(item in file for item in _INSTALLED)
    return bool(file) and not is_installed and bool(module_of(file))
