"""Norms of every layer over steps, to spot layers that vanish, explode or die."""

import numpy as np

from sonde.charts._chart import Chart
from sonde.formats import pluralize
from sonde.records.chart import Heatmap, Spec
from sonde.results.job import JobResults
from sonde.results.layer_matrix import Layers as LayerMatrix
from sonde.results.layer_matrix import read_layers, sort_by_model_order

_COLUMNS = 120
_MAX_TENSORS = 96  # tensors
_CHOICES = (("gradients", "l2_norm", "gradient norm"), ("weights", "l2_norm", "weight norm"))
_ZERO = 1e-12
_MAX_NAMED = 3


class Layers(Chart):
    """Gradient norm by layer and step; weight norm if no gradients were recorded."""

    title = "Layers over steps"
    section = "tensors"
    order = 5

    def build(self, job: JobResults) -> Spec | None:
        readers = job.steps(None).readers
        for collection, reduction, label in _CHOICES:
            holders = job.tensors(collection=collection).holders
            ordered = {name: holders[name] for name in sort_by_model_order(readers, holders)}
            matrix = read_layers(readers, ordered, "train", reduction)
            if len(matrix.names) and len(matrix.steps):
                return _chart(f"{self.title}: {label}", matrix)
        return None


def _chart(title: str, matrix: LayerMatrix) -> Heatmap:
    coarse = matrix.coarser(_COLUMNS)
    names, values = coarse.names, coarse.values
    cut = []
    if len(names) > _MAX_TENSORS:
        chosen = np.linspace(0, len(names) - 1, _MAX_TENSORS).astype(np.int64)
        cut.append(f"Only {_MAX_TENSORS} of {len(names):,} tensors are shown, evenly spaced.")
        names, values = tuple(names[index] for index in chosen), values[chosen]
    if len(coarse.steps) < len(matrix.steps):
        cut.append(f"{len(matrix.steps):,} steps averaged into {len(coarse.steps)} columns.")
    positive = values[np.isfinite(values) & (values > _ZERO)]
    low, high = (float(positive.min()), float(positive.max())) if len(positive) else (0.0, 1.0)
    return Heatmap(
        title=title,
        note=_sentence(names, values),
        coarsened=" ".join(cut),
        rows=names,
        x=tuple(coarse.steps.tolist()),
        x_title="Step",
        values=tuple(map(tuple, np.where(np.abs(values) <= _ZERO, 0.0, values).tolist())),
        low=low,
        high=high if high > low else low + 1.0,
        is_logarithmic=bool(low > 0 and high > 10 * low),
        marks_zero=True,
    )


def _sentence(
    names: tuple[str, ...], values: "np.ndarray[tuple[int, int], np.dtype[np.float64]]"
) -> str:
    last = [row[np.isfinite(row)][-1:] for row in values]
    dead = [name for name, row in zip(names, last, strict=True) if len(row) and row[0] <= _ZERO]
    if not dead:
        return ""
    more = ", …" if len(dead) > _MAX_NAMED else ""
    names_text = ", ".join(dead[:_MAX_NAMED])
    return f"Zero at the last recorded step: {pluralize(len(dead), 'tensor')} ({names_text}{more})."
