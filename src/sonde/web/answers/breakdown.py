"""Where the time of a range went: exact totals, from what was recorded, never from a picture."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sonde.analyze.counting import counting_order
from sonde.analyze.extents import Extents
from sonde.analyze.phase_modules import module_shares
from sonde.clock import NANOSECONDS
from sonde.read.jobs import JobFacts
from sonde.records.ranges import TimeRange
from sonde.records.step import Phase
from sonde.store import layout
from sonde.store.format import OPERATIONS
from sonde.web.answers._answers import Address, Answers
from sonde.web.answers.heat import window_document
from sonde.web.intervals import PHASE, STEP, USER, Stretches
from sonde.web.query_params import Question
from sonde.web.replies import Reply, json_reply
from sonde.web.shared_job import SharedJob

_RUN_SECONDS = 1.0  # so old the numbers of the whole run may be while it goes on
_ORDER = {phase.value: place for place, phase in enumerate(Phase)}
_WITH_MODULES = (Phase.FORWARD.value, Phase.BACKWARD.value)
_MOST_MODULES = 12
_METRICS = (
    "cpu.utilization_percent",
    "cpu.iowait_percent",
    "memory.used_percent",
    "gpu.utilization_percent",
    "gpu.memory_used_bytes",
    "network.receive_bytes_per_second",
    "network.transmit_bytes_per_second",
    "disk.read_bytes_per_second",
    "disk.write_bytes_per_second",
)


class BreakdownAnswers(Answers):
    """`breakdown`: totals by phase, and what the machine did meanwhile."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs/{job}/breakdown", _breakdown),)


def _breakdown(question: Question) -> Reply:
    job, window = question.job, question.window
    document: dict[str, Any] = {"worker": None, **window_document(window), "phases": []}
    document["seconds"] = document["t1"] - document["t0"]
    if job.facts.workers:
        document |= _training(job, question.worker, window)
    if job.facts.nodes:
        node = question.node if question.text("node") else _node(job.facts, document["worker"])
        document["node"] = node
        document["system"] = {
            "range": system_means(job, node, window),
            "run": job.cached(
                ("system means", node), _RUN_SECONDS, lambda: system_means(job, node, job.extent)
            ),
        }
    return json_reply(document)


def _training(job: SharedJob, worker: int, window: TimeRange) -> dict[str, Any]:
    every = job.stretches(worker)
    run = job.cached(
        ("phases of the run", worker), _RUN_SECONDS, lambda: phase_rows(every, job.extent)
    )
    shares = {one["name"]: one["share"] for one in run}
    phases = phase_rows(every, window)
    steps = every.of(STEP).clipped(window)
    named = sum(one["seconds"] for one in phases)
    whole = ((window.end_ns or 0) - (window.start_ns or 0)) / NANOSECONDS
    modules = job.cached(("modules", worker), _RUN_SECONDS, lambda: _modules(job, worker))
    return {
        "worker": worker,
        "phases": [
            {
                **one,
                "run_share": shares.get(one["name"], 0.0),
                "children": _children(one, modules.get(one["name"], {})),
            }
            for one in phases
        ],
        "other_seconds": max(0.0, whole - named),
        "steps": _totals(steps.ends_ns - steps.starts_ns, whole),
    }


def _modules(job: SharedJob, worker: int) -> dict[str, Mapping[str, float]]:
    """Which modules a phase's time goes into, where operators of this worker were profiled."""
    folder = layout.worker_folder(worker)
    if OPERATIONS.name not in job.backend.folders(folder):
        return {}
    with job.results() as results:
        return module_shares(results.operators(worker=worker).profiles, _WITH_MODULES)


def _children(row: Mapping[str, Any], shares: Mapping[str, float]) -> list[dict[str, Any]]:
    """The most costly modules of a phase, as the profile divides it; an estimate for the rest."""
    return [
        {"name": name, "seconds": part * row["seconds"], "share": part * row["share"]}
        for name, part in list(shares.items())[:_MOST_MODULES]
    ]


def phase_rows(every: Stretches, window: TimeRange) -> list[dict[str, Any]]:
    """Each phase that took any time in a window: how much, how often, and its share of it.

    Time counts once: a collective inside a backward pass is the collective's.
    """
    inside = every.of(PHASE, USER).within(window)
    own_ns = inside.own_ns(window)
    whole = ((window.end_ns or 0) - (window.start_ns or 0)) / NANOSECONDS
    names = np.array([one.name for one in inside.lanes], dtype=object)
    found = []
    for name in sorted(set(names.tolist()), key=lambda name: (_ORDER.get(name, 99), name)):
        numbers = np.flatnonzero(names == name)
        mine = np.isin(inside.numbers, numbers)
        if mine.any():
            found.append({"name": name, **_totals(own_ns[mine], whole)})
    return [*found, *_between(every.of(STEP).clipped(window), inside, whole)]


def _between(steps: Stretches, phases: Stretches, whole: float) -> list[dict[str, Any]]:
    """What of the steps is in no phase."""
    stepped = Extents.of(steps.starts_ns, steps.ends_ns)
    rest = (stepped - Extents.of(phases.starts_ns, phases.ends_ns)).total_ns / NANOSECONDS
    if not rest:
        return []
    count = len(steps.starts_ns)
    totals = {"count": count, "seconds": rest, "mean": rest / count, "p95": None}
    return [{"name": Phase.BETWEEN.value, **totals, "share": rest / whole}]


def _totals(lasted_ns: Any, whole: float) -> dict[str, Any]:
    seconds = float(lasted_ns.sum()) / NANOSECONDS
    count = len(lasted_ns)
    return {
        "count": count,
        "seconds": seconds,
        "mean": seconds / count if count else None,
        "p95": float(np.percentile(lasted_ns, 95)) / NANOSECONDS if count else None,
        "share": seconds / whole if whole else 0.0,
    }


def system_means(job: SharedJob, node: str, window: TimeRange) -> dict[str, Any]:
    """The mean of every sample in a window: of the whole node, else of each device and of all."""
    found: dict[str, Any] = {}
    with job.node(node) as reader:
        for metric in _METRICS:
            series = reader.series(metric, "") or reader.series(metric)
            if not series:
                continue
            _, values = reader.samples(series, window)
            means = [_mean(row) for row in values]
            known = [one for one in means if one is not None]
            entry: dict[str, Any] = {
                "unit": series[0].metric.unit,
                "mean": sum(known) / len(known) if known else None,
            }
            if series[0].device:
                devices = dict(zip((one.device for one in series), means, strict=True))
                entry["devices"] = {
                    key: devices[key] for key in sorted(devices, key=counting_order)
                }
            found[metric] = entry
    return found


def _mean(values: Any) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean(dtype=np.float64)) if len(known) else None


def _node(facts: JobFacts, worker: int | None) -> str:
    """The node that a worker is on, as its last life has it; else the first."""
    lives = sorted(facts.lives, key=lambda one: one.info.start_ns)
    nodes = [one.info.node for one in lives if one.info.rank == worker]
    known = [one for one in nodes if one in facts.nodes]
    return known[-1] if known else facts.nodes[0]
