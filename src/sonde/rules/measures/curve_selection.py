"""Select curves over steps: scalars by name, losses, and the means of tensors by collection."""

import re
from collections.abc import Sequence

from sonde.read.curves import Curve
from sonde.read.window import Window
from sonde.rules.measures.tensor_selection import LOSSES


def curves_of(
    window: Window, mode: str, collections: Sequence[str], regex: str | None
) -> list[Curve]:
    """Return the curves of the collections, and the scalars whose names match the pattern."""
    scalars = window.scalars("*", mode) if regex is not None else ()
    curves = [curve for curve in scalars if re.search(regex or "", curve.name)]
    names = {curve.name for curve in curves}
    if LOSSES in collections:
        curves += [curve for curve in window.losses(mode) if curve.name not in names]
    for collection in collections:
        for tensor in window.tensors(collection, mode):
            rows = (tensor.steps, tensor.rows.times_ns, tensor.values("mean"))
            curves.append(Curve(tensor.name, mode, *rows))
    return curves
