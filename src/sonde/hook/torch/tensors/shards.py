"""The shard of a tensor that this process can read alone.

Operations on distributed tensors (DTensor) may start a collective: the norm of a sharded tensor is
the norm over all workers. A collective that only one worker starts never completes, so the hook
never computes with a distributed tensor, but reads its local shard.
"""

from functools import cache
from operator import attrgetter

import torch
from torch import Tensor, nn

_local_tensor_of = attrgetter("_local_tensor")  # to_local() would be recorded in the graph
_element_of = attrgetter("elem")


@cache
def _has_base(kind: type, name: str) -> bool:
    return any(base.__name__ == name for base in kind.__mro__)


def is_distributed(tensor: Tensor) -> bool:
    """Whether a tensor is a DTensor."""
    kind = type(tensor)
    return kind is not Tensor and kind is not nn.Parameter and _has_base(kind, "DTensor")


def local(tensor: Tensor) -> Tensor:
    """Return the local shard of a distributed tensor; any other tensor unchanged.

    The result is empty while a collective of the training is still writing to the tensor. Waiting
    for it here could delay an operation that other workers wait for.
    """
    kind = type(tensor)
    if kind is Tensor or kind is nn.Parameter:
        return tensor
    if _has_base(kind, "DTensor"):
        return local(_local_tensor_of(tensor))
    if _has_base(kind, "AsyncCollectiveTensor"):
        return _finished(tensor)
    return tensor


def full_tensor(tensor: Tensor) -> Tensor | None:
    """Return a plain tensor with all values; None if this worker holds only a shard."""
    placements = getattr(tensor, "placements", ()) if is_distributed(tensor) else ()
    if not all(placement.is_replicate() for placement in placements):
        return None
    values = local(tensor)
    return values if values.shape == tensor.shape else None


def _finished(tensor: Tensor) -> Tensor:
    element: Tensor = _element_of(tensor)
    if getattr(tensor, "completed", False):
        return local(element)
    return torch.empty(0, dtype=element.dtype, device=element.device)
