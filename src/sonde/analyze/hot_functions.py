"""Which function of a script's own, outside of the framework, takes the time of its steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.analyze.python_profile import Amounts, Tree, module_of, short_file
from sonde.records.python_profile import Function

# What is called from here is the model's own work, whoever has written it.
_FRAMEWORK = "-packages/torch/"
_MODEL = tuple(
    f"{_FRAMEWORK}{item}"
    for item in ("nn/modules/", "autograd/", "optim/", "_dynamo/", "_tensor.py")
)
_INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen")
_MODULE_LEVEL = "<module>"


@dataclass(frozen=True, slots=True)
class HotFunction:
    """One function, with what it calls outside of the framework."""

    name: str
    file: str
    line: int  # where most of its time is spent
    share: float  # of all the time
    seconds: float


def hot_function(profiles: Sequence[Amounts], min_share: float) -> HotFunction | None:
    """The innermost function of the script's own that takes at least such a share.

    Functions that themselves call the model, its backward pass or its optimizer are what trains:
    their time is that of training.
    """
    totals: dict[Function, int] = {}
    lines: dict[Function, dict[int, int]] = {}
    depths: dict[Function, int] = {}
    training: set[Function] = set()
    total = 0
    for amounts in profiles:
        memory = np.zeros(len(amounts.tree.parents), dtype=np.int64)
        np.add.at(memory, amounts.nodes, amounts.ns)
        total += int(memory.sum())
        charged = _charged(amounts.tree, training)
        for node in np.flatnonzero(memory).tolist():
            for depth, (function, line) in enumerate(charged[node].items()):
                depths[function] = max(depth, depths.get(function, 0))
                totals[function] = totals.get(function, 0) + int(memory[node])
                of_lines = lines.setdefault(function, {})
                of_lines[line] = of_lines.get(line, 0) + int(memory[node])
    enough = {
        item: spent
        for item, spent in totals.items()
        if spent >= min_share * total and item not in training and item.name != _MODULE_LEVEL
    }
    if not enough:
        return None
    result = min(enough, key=lambda name: (enough[name], -depths[name], name))
    line = max(lines[result], key=lambda line: lines[result][line])
    share = enough[result] / total
    return HotFunction(result.name, short_file(result.file), line, share, enough[result] / 1e9)


def _charged(tree: Tree, training: set[Function]) -> list[dict[Function, int]]:
    """Per node the functions that its time is charged to, and their lines on the way to it."""
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
