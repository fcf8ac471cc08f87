"""Numbers of evaluations: losses reported by frameworks, and batch sizes."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from sonde.hook.call_site import split_named


def reported_loss(metrics: Mapping[str, float], title: str) -> float | None:
    """The loss among a framework's metrics: `loss`, `val_loss`, `eval_<title>_loss`.

    It is the value that the script prints, which may differ from the loss that the model returns.
    """
    prefixes = ("", "eval", title, f"eval_{title}")
    for name, value in metrics.items():
        of_loader = name.partition("/dataloader_idx_")[0].replace("/", "_")
        prefix, _, kind = of_loader.rpartition("_")
        if kind == "loss" and (prefix in prefixes or _is_split(prefix)):
            return value
    return None


def _is_split(word: str) -> bool:
    return word.isalpha() and split_named(word) is not None


def number(value: Any) -> float | None:
    """The value as a float if it is a number or a CPU tensor with one element, else None."""
    if isinstance(value, Tensor):
        return float(value) if value.numel() == 1 and value.device.type == "cpu" else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def rows_in(values: tuple[Any, ...]) -> int:
    """The batch size: the first dimension of the first tensor, or 0 without tensors."""
    for value in values:
        if isinstance(value, Tensor):
            if value.dim():
                return int(value.shape[0])
        elif isinstance(value, dict | list | tuple):
            inside = value.values() if isinstance(value, dict) else value
            rows = rows_in(tuple(item for item in inside if isinstance(item, Tensor)))
            if rows:
                return rows
    return 0
