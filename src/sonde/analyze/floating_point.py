"""Floating-point operations of profiled operators, from the shapes of their inputs.

Matrix products, convolutions and attention are counted, two operations per multiplication and
addition, as for the model FLOPs utilization (MFU) in the literature. Everything else is limited by
memory and would not change the total. Causal attention counts in full. Recomputed layers of
activation checkpointing count each time they run.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod

Shape = Sequence[int]

_ATTENTION = re.compile(r"aten::_scaled_dot_product_\w*attention(_for_cpu)?(?P<pass>_backward)?$")
# operators whose work is not visible in shapes, and kernels that operators do not launch
_UNCOUNTED = re.compile(r"cudnn_rnn|_grouped_mm|triton_tem_|GraphLaunch")


def operator_flops(name: str, shapes: Sequence[object]) -> float:
    """The floating-point operations of an operator; 0 for operators that are not counted."""
    tensors = [shape for shape in map(_dimensions, shapes) if shape]
    try:
        if match := _ATTENTION.match(name):
            return _attention(tensors, is_backward=bool(match["pass"]))
        count = _COUNTED.get(name)
        return count(tensors) if count else 0.0
    except (IndexError, ValueError):  # an unusual signature
        return 0.0


def is_counted(name: str) -> bool:
    """Whether the operations of an operator are counted."""
    return name in _COUNTED or _ATTENTION.match(name) is not None


def hides_work(name: str) -> bool:
    """Whether an operator or kernel computes matrix products that are not counted."""
    return _UNCOUNTED.search(name) is not None


def _dimensions(shape: object) -> tuple[int, ...]:
    if not isinstance(shape, list) or not all(isinstance(size, int) for size in shape):
        return ()
    return tuple(shape)


def _product(tensors: Sequence[Shape]) -> float:
    """Of two matrices, or two batches of matrices; `addmm` has the added matrix first."""
    left, right = tensors[-2:]
    return 2.0 * prod(left) * right[-1]


def _added_product(tensors: Sequence[Shape]) -> float:
    return _product(tensors[1:3])


def _convolution_backward(tensors: Sequence[Shape]) -> float:
    """Both gradients and the convolution itself, which takes as long as each of them.

    The shapes of a forward call do not tell the size of its output; those of the gradient do.
    """
    gradient, inputs, weight = tensors[:3]
    is_transposed = gradient[1] != weight[0]
    outputs = prod(inputs) if is_transposed else prod(gradient)
    return 3 * 2.0 * outputs * prod(weight[1:])


def _attention(tensors: Sequence[Shape], *, is_backward: bool) -> float:
    """Two products forward, four backward."""
    query, key = tensors[1:3] if is_backward else tensors[:2]
    products = 4 if is_backward else 2
    return products * 2.0 * prod(query) * key[-2]


_COUNTED: Mapping[str, Callable[[Sequence[Shape]], float]] = {
    "aten::mm": _product,
    "aten::bmm": _product,
    "aten::addmm": _added_product,
    "aten::baddbmm": _added_product,
    "aten::_scaled_mm": lambda tensors: _product(tensors[:2]),
    "aten::convolution_backward": _convolution_backward,
}
