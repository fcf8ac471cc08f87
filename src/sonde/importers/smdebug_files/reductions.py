"""Statistics from the reductions that smdebug saves instead of tensors."""

import math
from collections.abc import Mapping
from typing import Any

_PREFIX = "smdebug/reductions/"
_SPELLINGS = {
    "l1": "l1_norm",
    "l2": "l2_norm",
    "abs_l1": "l1_norm",
    "abs_l2": "l2_norm",
    "abs_l1_norm": "l1_norm",
    "abs_l2_norm": "l2_norm",
    "abs_sum": "l1_norm",
}
NAMES = frozenset(
    (
        *("min", "max", "mean", "std", "variance", "sum", "prod", "l1_norm", "l2_norm"),
        *("abs_min", "abs_max", "abs_mean", "abs_std", "abs_variance", "abs_prod"),
    )
)
_NAN = math.nan

Row = tuple[Any, ...]


def parse_reduction(tag: str) -> tuple[str, str] | None:
    """The reduction and the tensor that a tag names; None if it names no reduction."""
    if not tag.startswith(_PREFIX):
        return None
    spelling, _, tensor = tag.removeprefix(_PREFIX).partition("/")
    return _SPELLINGS.get(spelling, spelling), tensor


def statistics_of(reductions: Mapping[str, float], count: int | None) -> Row:
    """A row of statistics that yields the saved reductions; NaN for those that are missing.

    Args:
        reductions: The saved values by name.
        count: The number of elements; None if it is not recorded. Then it is derived from the
            reductions if possible, and otherwise 1.
    """
    values = {name: value for name, value in reductions.items() if math.isfinite(value)}
    size = count or _size(values)
    mean, absolute_mean = values.get("mean", _NAN), values.get("abs_mean", _NAN)
    squares = values.get("l2_norm", _NAN) ** 2
    if math.isnan(squares):
        squares = (_variance(values) + mean**2) * size
    extremes = values.get("min", _NAN), values.get("max", _NAN)
    if "abs_max" in values and math.isnan(extremes[1]):
        extremes = (-values["abs_max"], values["abs_max"]) if "min" not in values else extremes
    return (
        size,
        int(any(map(math.isnan, reductions.values()))),
        int(any(map(math.isinf, reductions.values()))),
        0,
        *extremes,
        values.get("abs_min", _NAN),
        values.get("sum", mean * size),
        squares,
        values.get("l1_norm", absolute_mean * size),
        "",
    )


def _variance(values: Mapping[str, float]) -> float:
    if "variance" in values:
        return values["variance"]
    return values.get("std", _NAN) ** 2


def _size(values: Mapping[str, float]) -> int:
    """The number of elements, as far as the reductions determine it."""
    mean, absolute_mean = values.get("mean", 0.0), values.get("abs_mean", 0.0)
    spread = _variance(values) + mean**2
    ratios = (
        values["l1_norm"] / absolute_mean if absolute_mean and "l1_norm" in values else _NAN,
        values["sum"] / mean if mean and "sum" in values else _NAN,
        values["l2_norm"] ** 2 / spread if spread > 0 and "l2_norm" in values else _NAN,
    )
    sizes = (ratio for ratio in ratios if 0.5 <= ratio < 2**62)
    return round(next(sizes, 1.0))
