"""What the kernels and copies of a step do on a device: seconds by kind of work."""

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from sonde.analyze.kernels import Precision, is_unaligned, matrix_precision
from sonde.analyze.operations import NO_ROW, Operations, Profile
from sonde.records.arrays import BoolArray, IntArray
from sonde.records.profile import OperationCategory

_PAGEABLE = re.compile(r"HtoD \(Pageable", re.IGNORECASE)
_PRODUCTS = ("aten::bmm", "aten::baddbmm")
_SOFTMAX = ("aten::_softmax", "aten::_softmax_backward_data")
_FUSED_ATTENTION = re.compile(r"scaled_dot_product|flash_attention|efficient_attention|fmha")
_MAX_BETWEEN = 40  # operators between the products around a softmax
_MAX_OPERATORS = 4


@dataclass(frozen=True)
class DeviceWork:
    """Nanoseconds of one step by kind of work, and the operators that launch each kind."""

    total_ns: float
    by_precision: dict[str, float]  # of matrix products
    unaligned_ns: float  # matrix products in half precision with odd dimensions
    attention_ns: float  # attention that is computed as separate products and softmax
    attentions: int
    pageable_ns: float  # copies from pageable host memory
    copied: int
    operators: dict[str, list[str]] = field(default_factory=dict)


def device_work(profile: Profile) -> DeviceWork | None:
    """Return the work of a step on all devices; None if there is none."""
    operations = profile.operations
    rows = np.flatnonzero(operations.is_on_device)
    if not len(rows):
        return None
    steps = max(1, profile.steps)
    durations = operations.durations_ns[rows] / steps
    precisions = {kind: _where(operations, rows, kind) for kind in Precision}
    names = operations.names
    is_half = precisions[Precision.HALF]
    is_odd = is_half & names.where(is_unaligned)[rows]
    is_copy = operations.categories.is_in({OperationCategory.COPY.value})[rows]
    is_pageable = is_copy & names.where(lambda name: _PAGEABLE.search(name) is not None)[rows]
    attention, count = _separate_attention(operations, rows)
    kinds: dict[str, BoolArray] = {str(kind): which for kind, which in precisions.items()}
    kinds |= {"unaligned": is_odd, "attention": attention, "pageable": is_pageable}
    return DeviceWork(
        total_ns=float(durations.sum()),
        by_precision={
            str(kind): float(durations[which].sum()) for kind, which in precisions.items()
        },
        unaligned_ns=float(durations[is_odd].sum()),
        attention_ns=float(durations[attention].sum()),
        attentions=round(count / steps),
        pageable_ns=float(durations[is_pageable].sum()),
        copied=round(int(is_pageable.sum()) / steps),
        operators={kind: _launching(operations, rows[which]) for kind, which in kinds.items()},
    )


def _where(operations: Operations, rows: IntArray, kind: Precision) -> BoolArray:
    return operations.names.where(lambda name: matrix_precision(name) is kind)[rows]


def _launching(operations: Operations, rows: IntArray) -> list[str]:
    """Return the outermost operators that launched rows, the most frequent ones first."""
    calls = operations.launches[rows]
    launchers = operations.nesting.outermost(calls, operations.is_operator)
    launchers = launchers[launchers != NO_ROW]
    labels = Counter(
        f"{operations.names[row]} in {operations.modules[row]}"
        if operations.modules[row]
        else operations.names[row]
        for row in launchers.tolist()
    )
    return [label for label, _ in labels.most_common(_MAX_OPERATORS)]


def _separate_attention(operations: Operations, rows: IntArray) -> tuple[BoolArray, int]:
    """Return which device rows belong to attention of separate operators, and the softmax count.

    In order of time on one thread: a batched product, a softmax a few operators later, and another
    batched product. Everything they launch counts.
    """
    is_operator = operations.is_operator
    is_product = is_operator & operations.names.is_in(_PRODUCTS)
    is_softmax = is_operator & operations.names.is_in(_SOFTMAX)
    is_fused = operations.names.where(lambda name: _FUSED_ATTENTION.search(name) is not None)
    nothing = np.zeros(len(rows), dtype=np.bool_)
    if not is_product.any() or not is_softmax.any() or (is_fused & is_operator).any():
        return nothing, 0
    order = np.flatnonzero(is_operator)
    order = order[np.argsort(operations.starts_ns[order], kind="stable")]
    products = np.flatnonzero(is_product[order])
    found, spans = 0, []
    for softmax in np.flatnonzero(is_softmax[order]).tolist():
        index = int(np.searchsorted(products, softmax))
        if 0 < index < len(products):
            first, last = int(products[index - 1]), int(products[index])
            if softmax - first <= _MAX_BETWEEN and last - softmax <= _MAX_BETWEEN:
                found += 1
                spans.append((operations.starts_ns[order[first]], operations.ends_ns[order[last]]))
    launched = operations.launches[rows]
    starts = np.where(launched == NO_ROW, -1, operations.starts_ns[launched])
    for start_ns, end_ns in spans:
        nothing |= (starts >= start_ns) & (starts < end_ns)
    return nothing, found
