"""Numbers in tensors, read so that nobody notices."""

from torch import Tensor
from torch._C import _functorch, _len_torch_dispatch_stack


def number_in(value: object) -> float | None:
    """The number in a tensor of one, where it can be had without anybody noticing; else None."""
    if type(value) is not Tensor or value.dim() or not value.is_cpu:
        return None
    is_real = value.is_floating_point() and not _functorch.is_functorch_wrapped_tensor(value)
    return value.item() if is_real and not _len_torch_dispatch_stack() else None
