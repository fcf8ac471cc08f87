"""Tensors: names, a number of several over steps, histograms over steps, values, layers × steps."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.analyze.counting import counting_order
from sonde.errors import UsageError
from sonde.read.tensors import Holders
from sonde.records.step import Mode
from sonde.results.job import JobResults
from sonde.results.layer_matrix import UPDATE_RATIO, Layers, as_recorded, read_layers
from sonde.store.statistics import REDUCTIONS
from sonde.web.answers._answers import Address, Answers
from sonde.web.frames import FrameBuilder
from sonde.web.query_params import Question
from sonde.web.replies import Reply, frame_reply, json_reply
from sonde.web.tensor_values import value_document

_PLAIN = tuple(one for one in REDUCTIONS if one != "quantiles")
_PRODUCT = "prod"  # where it was recorded: it does not follow from the statistics
_MODES = tuple(one.value for one in Mode)
_MOST_TENSORS = 12  # in one picture
_MOST_NAMES = 50_000
_MOST_LAYERS = 10_000
_MOST_CELLS = 600_000  # layers × steps
_MOST_STEPS = 1000  # of a histogram; more are put together


class Tensors(Answers):
    """`tensors`: everything about tensors."""

    def addresses(self) -> Sequence[Address]:
        """Names, and four ways to look at them."""
        return (
            Address("/jobs/{job}/tensors", _names),
            Address("/jobs/{job}/tensors/statistics", _statistics),
            Address("/jobs/{job}/tensors/histograms", _histograms),
            Address("/jobs/{job}/tensors/value", _value),
            Address("/jobs/{job}/tensors/layers", _layers),
        )


def _names(question: Question) -> Reply:
    with question.job.results() as results:
        holders = results.tensors().holders
    counts = Counter(name for one in holders.values() for name in _info(one).collections)
    found = _chosen(holders, question)
    offset = question.whole("offset", 0, 0, _MOST_NAMES)
    limit = question.whole("limit", _MOST_NAMES, 1, _MOST_NAMES)
    return json_reply(
        {
            "collections": [{"name": name, "count": counts[name]} for name in sorted(counts)],
            "reductions": [*_PLAIN, _PRODUCT, UPDATE_RATIO],
            "total": len(found),
            "tensors": [_document(name, holders[name]) for name in found[offset : offset + limit]],
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
        "said": info.said,
    }


def _statistics(question: Question) -> Reply:
    reduction = question.choice("reduction", (*_PLAIN, _PRODUCT))
    mode = question.choice("mode", _MODES)
    names = _asked_names(question)
    series = []
    with question.job.results() as results:
        for name in names:
            found = results.tensor(name).reduction(reduction, mode=mode).by_worker()
            for worker, (steps, values) in list(found.items())[:_MOST_TENSORS]:
                series.append(
                    {"name": name, "worker": worker, **_curve(steps, values, question.pixels)}
                )
    return json_reply({"reduction": reduction, "mode": mode, "series": series})


def _curve(
    steps: npt.NDArray[Any], values: npt.NDArray[Any], most: int
) -> dict[str, list[float | int]]:
    """Every step, or the least, mean and largest value of neighbours."""
    if len(steps) <= most:
        return {"steps": steps.tolist(), "values": values.tolist()}
    edges = np.linspace(0, len(steps), most + 1).astype(np.int64)
    is_known = np.isfinite(values)
    counts = np.add.reduceat(is_known.astype(np.int64), edges[:-1])
    sums = np.add.reduceat(np.where(is_known, values, 0.0), edges[:-1])
    return {
        "steps": steps[edges[:-1]].tolist(),
        "values": np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).tolist(),
        "low": np.fmin.reduceat(values, edges[:-1]).tolist(),
        "high": np.fmax.reduceat(values, edges[:-1]).tolist(),
    }


def _histograms(question: Question) -> Reply:
    mode, name = question.choice("mode", _MODES), question.text("name")
    with question.job.results() as results:
        found = results.tensor(name).histograms(mode=mode)
    most = min(question.pixels, _MOST_STEPS)
    places = np.linspace(0, len(found.steps), min(most, len(found.steps)) + 1).astype(np.int64)
    counts, zeros = found.counts, found.zeros
    if len(found.steps) > most:
        counts = np.add.reduceat(counts, places[:-1], axis=0)
        zeros = np.add.reduceat(zeros, places[:-1])
    builder = FrameBuilder()
    header = {
        "name": name,
        "mode": mode,
        "steps": found.steps[places[:-1]].tolist(),
        "edges": found.edges.tolist(),
        "zeros": zeros.tolist(),
        "merged": max(1, len(found.steps) // max(1, len(places) - 1)),
        "counts": builder.add(counts.astype("<u4" if counts.max(initial=0) < 1 << 32 else "<f8")),
    }
    return frame_reply(builder.build(header))


def _value(question: Question) -> Reply:
    """One saved tensor; without a step, the steps that there are."""
    mode, name = question.choice("mode", _MODES), question.text("name")
    worker = question.worker if question.text("worker") else None
    with question.job.results() as results:
        tensor = results.tensor(name)
        steps = tensor.value_steps(mode=mode, worker=worker)
        if not question.text("step"):
            return json_reply({"name": name, "mode": mode, "steps": steps})
        step = question.whole("step", 0, 0, 1 << 60)
        values = tensor.value(step, mode=mode, worker=worker)
    corner = (question.whole("row", 0, 0, 1 << 40), question.whole("column", 0, 0, 1 << 40))
    said = value_document(values, corner)
    return json_reply({"name": name, "mode": mode, "step": step, "steps": steps, **said})


def _layers(question: Question) -> Reply:
    reduction = question.choice("reduction", ("l2_norm", *_PLAIN, UPDATE_RATIO))
    mode = question.choice("mode", _MODES)
    with question.job.results() as results:
        holders = results.tensors().holders
        names = _in_model_order(question, _chosen(holders, question))
        wanted = {name: holders[name] for name in names[:_MOST_LAYERS]}
        ranks = sorted({rank for one in wanted.values() for rank in one})
        found = _read(question, ranks, wanted, (mode, reduction))
        marks = _marks(results, found.names)
    most = max(2, min(question.pixels, _MOST_CELLS // max(1, len(found.names))))
    shown = found.coarser(most)
    builder = FrameBuilder()
    header = {
        "mode": mode,
        "reduction": reduction,
        "names": list(shown.names),
        "total": len(names),
        "steps": shown.steps.tolist(),
        "merged": max(1, len(found.steps) // max(1, len(shown.steps))),
        "marks": marks,
        "values": builder.add(shown.values.astype("<f4")),
    }
    return frame_reply(builder.build(header))


def _read(
    question: Question,
    ranks: Sequence[int],
    wanted: Mapping[str, Holders],
    how: tuple[str, str],
) -> Layers:
    with question.job.workers(ranks) as readers:
        return read_layers(readers, wanted, *how)


def _in_model_order(question: Question, names: list[str]) -> list[str]:
    ranks = sorted(map(int, question.job.facts.workers))
    with question.job.workers(ranks[:1]) as readers:
        return as_recorded(readers, names)


def _marks(results: JobResults, names: Sequence[str]) -> dict[str, list[dict[str, str]]]:
    """What rules have found about some tensors."""
    known = set(names)
    found: dict[str, list[dict[str, str]]] = {}
    for row in results.judgement().findings.documents():
        tensor = str(row.get("tensor") or "")
        if tensor in known:
            said = {key: str(row.get(key, "")) for key in ("rule", "severity", "message")}
            found.setdefault(tensor, []).append(said)
    return found


def _chosen(holders: Mapping[str, Holders], question: Question) -> list[str]:
    collection, search = question.text("collection"), question.text("search").casefold()
    found = [
        name
        for name, one in holders.items()
        if search in name.casefold() and (not collection or collection in _info(one).collections)
    ]
    return sorted(found, key=counting_order)


def _asked_names(question: Question) -> list[str]:
    """Names with line ends between them: all else may stand in a name."""
    names = [one for one in question.text("names").split("\n") if one]
    if not names:
        raise UsageError("names is empty. Name a tensor.")
    if len(names) > _MOST_TENSORS:
        raise UsageError(f"names has {len(names)} tensors. At most {_MOST_TENSORS} at a time.")
    return names


def _info(holders: Holders) -> Any:
    return holders[min(holders)]
