"""The values of one tensor: statistics, a thumbnail and a section as a table."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_TABLE_ROWS, _TABLE_COLUMNS = 40, 24
_THUMBNAIL_CELLS = 192  # along each side


def value_document(values: Array, corner: tuple[int, int]) -> dict[str, Any]:
    """Everything shown of a tensor; rows are its first dimension, columns all others.

    Args:
        values: The tensor.
        corner: Row and column at which the table starts.
    """
    plain = values.reshape(_flat_shape(values.shape))
    row = min(corner[0], max(0, plain.shape[0] - 1))
    column = min(corner[1], max(0, plain.shape[1] - 1))
    table = plain[row : row + _TABLE_ROWS, column : column + _TABLE_COLUMNS]
    return {
        "dtype": str(values.dtype),
        "shape": list(values.shape),
        "rows": plain.shape[0],
        "columns": plain.shape[1],
        "figures": _statistics(plain),
        "picture": _thumbnail(_numbers(plain)),
        "table": {
            "row": row,
            "column": column,
            "values": [_plain_values(row_values) for row_values in table],
        },
    }


def _flat_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) < 2:
        return (1, math.prod(shape))
    return (shape[0], math.prod(shape[1:]))


def _numbers(plain: Array) -> npt.NDArray[np.float64]:
    if np.iscomplexobj(plain):
        return np.asarray(np.abs(plain), dtype=np.float64)
    return np.asarray(plain, dtype=np.float64)


def _statistics(plain: Array) -> dict[str, Any]:
    numbers = _numbers(plain)
    finite = numbers[np.isfinite(numbers)]
    statistics: dict[str, Any] = {
        "count": int(numbers.size),
        "zeros": int((numbers == 0).sum()),
        "nans": int(np.isnan(numbers).sum()),
        "infinities": int(np.isinf(numbers).sum()),
    }
    if finite.size:
        with np.errstate(over="ignore"):
            statistics |= {
                "minimum": float(finite.min()),
                "maximum": float(finite.max()),
                "mean": float(finite.mean()),
                "std": float(finite.std()),
                "l2_norm": float(np.sqrt((finite**2).sum())),
            }
    return statistics


def _thumbnail(plain: npt.NDArray[np.float64]) -> dict[str, Any]:
    """The tensor reduced to a grid; each cell shows the value farthest from zero."""
    for axis in (0, 1):
        size = plain.shape[axis]
        if size > _THUMBNAIL_CELLS:
            edges = np.linspace(0, size, _THUMBNAIL_CELLS + 1).astype(np.int64)[:-1]
            high = np.fmax.reduceat(plain, edges, axis=axis)
            low = np.fmin.reduceat(plain, edges, axis=axis)
            plain = np.where(np.abs(high) >= np.abs(low), high, low)
    rows, columns = plain.shape
    return {"rows": rows, "columns": columns, "values": _plain_values(plain.reshape(-1), 4)}


def _plain_values(values: Array, digits: int = 6) -> list[Any]:
    """Values rounded to a number of significant digits; NaN and infinity as text."""
    if values.dtype.kind in "biu":
        return [int(value) for value in values.tolist()]
    if values.dtype.kind == "c":
        return [str(value) for value in values.tolist()]
    return [
        float(f"{value:.{digits}g}") if math.isfinite(value) else _word(value)
        for value in values.tolist()
    ]


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
