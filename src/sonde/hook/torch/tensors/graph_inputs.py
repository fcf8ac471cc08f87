"""Inputs of a computation, found in its autograd graph afterwards."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

_SAVED = "_saved_"
_STATISTICS = "_saved_running"  # of batch normalization: updated by the pass itself
_MAX_NODES = 2_000


def inputs_in_graph(root: Tensor) -> list[Tensor]:
    """Return tensors that are neither computed in the graph nor trained: batches and labels.

    In order of first use. Only tensors that an operation saved for its backward pass are
    found, which includes the inputs of linear layers, convolutions and losses.
    """
    inputs: dict[int, Tensor] = {}
    nodes, queue = {root.grad_fn}, deque([root.grad_fn])
    while queue and len(nodes) < _MAX_NODES:
        node = queue.popleft()
        if node is None:
            continue
        for tensor in _saved_by(node):
            if tensor.grad_fn is None and not tensor.requires_grad:
                inputs[tensor.data_ptr()] = tensor
        for earlier, _ in node.next_functions:
            if earlier not in nodes:
                nodes.add(earlier)
                queue.append(earlier)
    return [*inputs.values()][::-1]


def _saved_by(node: Any) -> Iterator[Tensor]:
    for name in dir(node):
        if not name.startswith(_SAVED) or name.startswith(_STATISTICS):
            continue
        try:
            value = getattr(node, name)
        except RuntimeError:  # freed by an earlier backward pass
            continue
        for tensor in value if isinstance(value, tuple | list) else (value,):
            if isinstance(tensor, Tensor) and not isinstance(tensor, nn.Parameter):
                yield tensor
