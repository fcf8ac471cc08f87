"""Non-finite values. Every function here waits for the device."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from sonde.hook.torch.tensors.shards import local

_MAX_NESTING = 4


def bad_value(tensor: Tensor | None) -> str | None:
    """Return `nan` or `inf` if a tensor contains one, otherwise None."""
    if tensor is None or not (tensor.is_floating_point() or tensor.is_complex()):
        return None
    with torch.no_grad():
        values = _values(local(tensor).detach())
        if values.device.type == "meta" or bool(torch.isfinite(values).all()):
            return None
        return "nan" if bool(torch.isnan(values).any()) else "inf"


def first_bad(named: Iterable[tuple[str, Tensor]]) -> tuple[str, str] | None:
    """Return the name of the first non-finite tensor, and `nan` or `inf`."""
    for name, tensor in named:
        bad = bad_value(tensor)
        if bad is not None:
            return name, bad
    return None


def tensors_in(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, Tensor]]:
    """Yield all tensors in a module's inputs or outputs, with names."""
    if isinstance(value, Tensor):
        yield name, value
    elif depth < _MAX_NESTING and isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from tensors_in(item, f"{name}.{index}" if name else str(index), depth + 1)
    elif depth < _MAX_NESTING and isinstance(value, dict):
        for key, item in value.items():
            yield from tensors_in(item, f"{name}.{key}" if name else str(key), depth + 1)


def _values(tensor: Tensor) -> Tensor:
    if tensor.layout is torch.strided:
        return tensor if tensor.itemsize > 1 else tensor.to(torch.float32)
    return tensor.coalesce().values() if tensor.layout is torch.sparse_coo else tensor.to_dense()
