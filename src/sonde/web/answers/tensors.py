"""Tensors: names, statistics and histograms over steps, values, and layers × steps."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.analyze.natural_sort import natural_sort_key
from sonde.errors import UsageError
from sonde.read.tensors import Holders
from sonde.records.step import Mode
from sonde.results.job import JobResults
from sonde.results.layer_matrix import UPDATE_RATIO, Layers, read_layers, sort_by_model_order
from sonde.store.statistics import REDUCTIONS
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.frames import FrameBuilder
from sonde.web.query_params import Query
from sonde.web.replies import Reply, frame_reply, json_reply
from sonde.web.tensor_values import value_document

_PLAIN = tuple(name for name in REDUCTIONS if name != "quantiles")
_PRODUCT = "prod"  # only if it was recorded: it cannot be derived from the statistics
_MODES = tuple(mode.value for mode in Mode)
_MAX_TENSORS = 12  # in one chart
_MAX_NAMES = 50_000
_MAX_LAYERS = 10_000
_MAX_CELLS = 600_000  # layers × steps
_MAX_STEPS = 1000  # of a histogram; more are merged


class Tensors(EndpointGroup):
    """`tensors`: names, statistics, histograms, values and layers."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (
            Endpoint("/jobs/{job}/tensors", _names),
            Endpoint("/jobs/{job}/tensors/statistics", _statistics),
            Endpoint("/jobs/{job}/tensors/histograms", _histograms),
            Endpoint("/jobs/{job}/tensors/value", _value),
            Endpoint("/jobs/{job}/tensors/layers", _layers),
        )


def _names(query: Query) -> Reply:
    with query.job.results() as results:
        holders = results.tensors().holders
    counts = Counter(name for each in holders.values() for name in _info(each).collections)
    names = _chosen(holders, query)
    offset = query.integer("offset", 0, 0, _MAX_NAMES)
    limit = query.integer("limit", _MAX_NAMES, 1, _MAX_NAMES)
    return json_reply(
        {
            "collections": [{"name": name, "count": counts[name]} for name in sorted(counts)],
            "reductions": [*_PLAIN, _PRODUCT, UPDATE_RATIO],
            "total": len(names),
            "tensors": [_document(name, holders[name]) for name in names[offset : offset + limit]],
        }
    )


def _document(name: str, holders: Holders) -> dict[str, Any]:
    info = _info(holders)
    return {
        "name": name,
        "collections": list(info.collections),
        "dtype": info.dtype,
        "shape": list(info.shape),
        "workers": len(holders),
        "is_shard": info.is_shard,
        "note": info.note,
    }


def _statistics(query: Query) -> Reply:
    reduction = query.choice("reduction", (*_PLAIN, _PRODUCT))
    mode = query.choice("mode", _MODES)
    names = _requested_names(query)
    series = []
    with query.job.results() as results:
        for name in names:
            by_worker = results.tensor(name).reduction(reduction, mode=mode).by_worker()
            for worker, (steps, values) in list(by_worker.items())[:_MAX_TENSORS]:
                series.append(
                    {"name": name, "worker": worker, **_curve(steps, values, query.pixels)}
                )
    return json_reply({"reduction": reduction, "mode": mode, "series": series})


def _curve(
    steps: npt.NDArray[Any], values: npt.NDArray[Any], max_points: int
) -> dict[str, list[float | int]]:
    """Every step, or minimum, mean and maximum of neighboring steps."""
    if len(steps) <= max_points:
        return {"steps": steps.tolist(), "values": values.tolist()}
    edges = np.linspace(0, len(steps), max_points + 1).astype(np.int64)
    is_known = np.isfinite(values)
    counts = np.add.reduceat(is_known.astype(np.int64), edges[:-1])
    sums = np.add.reduceat(np.where(is_known, values, 0.0), edges[:-1])
    return {
        "steps": steps[edges[:-1]].tolist(),
        "values": np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).tolist(),
        "low": np.fmin.reduceat(values, edges[:-1]).tolist(),
        "high": np.fmax.reduceat(values, edges[:-1]).tolist(),
    }


def _histograms(query: Query) -> Reply:
    mode, name = query.choice("mode", _MODES), query.text("name")
    with query.job.results() as results:
        histograms = results.tensor(name).histograms(mode=mode)
    max_steps = min(query.pixels, _MAX_STEPS)
    edges = np.linspace(0, len(histograms.steps), min(max_steps, len(histograms.steps)) + 1).astype(
        np.int64
    )
    counts, zeros = histograms.counts, histograms.zeros
    if len(histograms.steps) > max_steps:
        counts = np.add.reduceat(counts, edges[:-1], axis=0)
        zeros = np.add.reduceat(zeros, edges[:-1])
    builder = FrameBuilder()
    header = {
        "name": name,
        "mode": mode,
        "steps": histograms.steps[edges[:-1]].tolist(),
        "edges": histograms.edges.tolist(),
        "zeros": zeros.tolist(),
        "merged": max(1, len(histograms.steps) // max(1, len(edges) - 1)),
        "counts": builder.add(counts.astype("<u4" if counts.max(initial=0) < 1 << 32 else "<f8")),
    }
    return frame_reply(builder.build(header))


def _value(query: Query) -> Reply:
    """One saved tensor; without a step, the list of saved steps."""
    mode, name = query.choice("mode", _MODES), query.text("name")
    worker = query.worker if query.text("worker") else None
    with query.job.results() as results:
        tensor = results.tensor(name)
        steps = tensor.value_steps(mode=mode, worker=worker)
        if not query.text("step"):
            return json_reply({"name": name, "mode": mode, "steps": steps})
        step = query.integer("step", 0, 0, 1 << 60)
        values = tensor.value(step, mode=mode, worker=worker)
    corner = (query.integer("row", 0, 0, 1 << 40), query.integer("column", 0, 0, 1 << 40))
    document = value_document(values, corner)
    return json_reply({"name": name, "mode": mode, "step": step, "steps": steps, **document})


def _layers(query: Query) -> Reply:
    reduction = query.choice("reduction", ("l2_norm", *_PLAIN, UPDATE_RATIO))
    mode = query.choice("mode", _MODES)
    with query.job.results() as results:
        holders = results.tensors().holders
        names = _in_model_order(query, _chosen(holders, query))
        selected = {name: holders[name] for name in names[:_MAX_LAYERS]}
        ranks = sorted({rank for each in selected.values() for rank in each})
        layers = _read(query, ranks, selected, (mode, reduction))
        marks = _marks(results, layers.names)
    max_steps = max(2, min(query.pixels, _MAX_CELLS // max(1, len(layers.names))))
    shown = layers.coarser(max_steps)
    builder = FrameBuilder()
    header = {
        "mode": mode,
        "reduction": reduction,
        "names": list(shown.names),
        "total": len(names),
        "steps": shown.steps.tolist(),
        "merged": max(1, len(layers.steps) // max(1, len(shown.steps))),
        "marks": marks,
        "values": builder.add(shown.values.astype("<f4")),
    }
    return frame_reply(builder.build(header))


def _read(
    query: Query,
    ranks: Sequence[int],
    holders: Mapping[str, Holders],
    how: tuple[str, str],
) -> Layers:
    with query.job.workers(ranks) as readers:
        return read_layers(readers, holders, *how)


def _in_model_order(query: Query, names: list[str]) -> list[str]:
    ranks = sorted(map(int, query.job.facts.workers))
    with query.job.workers(ranks[:1]) as readers:
        return sort_by_model_order(readers, names)


def _marks(results: JobResults, names: Sequence[str]) -> dict[str, list[dict[str, str]]]:
    """Findings about some tensors, by tensor."""
    shown = set(names)
    marks: dict[str, list[dict[str, str]]] = {}
    for row in results.judgement().findings.documents():
        tensor = str(row.get("tensor") or "")
        if tensor in shown:
            mark = {key: str(row.get(key, "")) for key in ("rule", "severity", "message")}
            marks.setdefault(tensor, []).append(mark)
    return marks


def _chosen(holders: Mapping[str, Holders], query: Query) -> list[str]:
    collection, search = query.text("collection"), query.text("search").casefold()
    names = [
        name
        for name, each in holders.items()
        if search in name.casefold() and (not collection or collection in _info(each).collections)
    ]
    return sorted(names, key=natural_sort_key)


def _requested_names(query: Query) -> list[str]:
    """Tensor names, separated by line breaks: names may contain any other character."""
    names = [name for name in query.text("names").split("\n") if name]
    if not names:
        raise UsageError("names is empty. Specify at least one tensor.")
    if len(names) > _MAX_TENSORS:
        raise UsageError(
            f"names has {len(names)} tensors. The limit is {_MAX_TENSORS} per request."
        )
    return names


def _info(holders: Holders) -> Any:
    return holders[min(holders)]
