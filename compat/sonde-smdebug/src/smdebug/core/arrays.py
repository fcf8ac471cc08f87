"""Tensors of any framework as arrays."""

from typing import Any

import numpy as np


def to_array(value: Any) -> np.ndarray[Any, Any]:
    """A copy of a tensor, an array or a number as an array."""
    if hasattr(value, "detach"):  # a tensor of PyTorch; bfloat16 has no equivalent in NumPy
        value = value.detach().cpu()
        value = value.float() if "bfloat16" in str(value.dtype) else value
    elif hasattr(value, "numpy"):
        value = value.numpy()
    return np.array(value)
