"""Numbers of evaluations: what frameworks report, and how large a batch is."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from sonde.hook.call_site import split_named


def reported_loss(metrics: Mapping[str, float], title: str) -> float | None:
    """The loss among the numbers that a framework reports: `loss`, `val_loss`, `eval_<title>_loss`.

    It is what the script prints: a trainer may compute a loss of its own from what models return.
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
    """A plain number, or one in a tensor of the host; else None."""
    if isinstance(value, Tensor):
        return float(value) if value.numel() == 1 and value.device.type == "cpu" else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def rows_in(values: tuple[Any, ...]) -> int:
    """The size of a batch: the first dimension of its first tensor; 0 where there is none."""
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
