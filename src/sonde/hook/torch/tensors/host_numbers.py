"""Numbers in host tensors, read without side effects."""

from torch import Tensor
from torch._C import _functorch, _len_torch_dispatch_stack


def number_in(value: object) -> float | None:
    """Return the number in a 0-d host tensor if reading it has no side effects, otherwise None."""
    if type(value) is not Tensor or value.dim() or not value.is_cpu:
        return None
    is_real = value.is_floating_point() and not _functorch.is_functorch_wrapped_tensor(value)
    return value.item() if is_real and not _len_torch_dispatch_stack() else None
