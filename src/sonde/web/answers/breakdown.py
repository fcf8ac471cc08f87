"""Where the time of a range went: exact totals from recorded events."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sonde.analyze.durations import durations_of
from sonde.analyze.extents import Extents
from sonde.analyze.phase_modules import module_shares
from sonde.analyze.resources import mean_of_samples
from sonde.clock import NANOSECONDS
from sonde.read.jobs import JobFacts
from sonde.records.ranges import TimeRange
from sonde.records.step import Phase
from sonde.results.machines import main_series
from sonde.store import layout
from sonde.store.format import OPERATIONS
from sonde.store.rollups import Floats
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.intervals import PHASE, STEP, USER, Intervals
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply
from sonde.web.shared_job import SharedJob
from sonde.web.windows import window_document

_RUN_SECONDS = 1.0  # how long totals of a running job are reused
_ORDER = {phase.value: index for index, phase in enumerate(Phase)}
_WITH_MODULES = (Phase.FORWARD.value, Phase.BACKWARD.value)
_MAX_MODULES = 12
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


class BreakdownEndpoints(EndpointGroup):
    """`breakdown`: time by phase, and what the machine did in the same range."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/breakdown", _breakdown),)


def _breakdown(query: Query) -> Reply:
    job, window = query.job, query.window
    document: dict[str, Any] = {"worker": None, **window_document(window), "phases": []}
    document["seconds"] = document["t1"] - document["t0"]
    if job.facts.workers:
        document |= _training(job, query.worker, window)
    if job.facts.nodes:
        node = query.node if query.text("node") else _node(job.facts, document["worker"])
        document["node"] = node
        document["system"] = {
            "range": system_means(job, node, window),
            "run": job.cached(
                ("system means", node), _RUN_SECONDS, lambda: system_means(job, node, job.extent)
            ),
        }
    return json_reply(document)


def _training(job: SharedJob, worker: int, window: TimeRange) -> dict[str, Any]:
    events = job.intervals(worker)
    run = job.cached(
        ("phases of the run", worker), _RUN_SECONDS, lambda: phase_rows(events, job.extent)
    )
    shares = {row["name"]: row["share"] for row in run}
    phases = phase_rows(events, window)
    steps = events.of(STEP).clipped(window)
    named = sum(row["seconds"] for row in phases)
    window_seconds = ((window.end_ns or 0) - (window.start_ns or 0)) / NANOSECONDS
    modules = job.cached(("modules", worker), _RUN_SECONDS, lambda: _modules(job, worker))
    return {
        "worker": worker,
        "phases": [
            {
                **row,
                "run_share": shares.get(row["name"], 0.0),
                "children": _children(row, modules.get(row["name"], {})),
            }
            for row in phases
        ],
        "other_seconds": max(0.0, window_seconds - named),
        "steps": _totals(steps.ends_ns - steps.starts_ns, window_seconds),
    }


def _modules(job: SharedJob, worker: int) -> dict[str, Mapping[str, float]]:
    """Shares of modules in the time of each phase; empty if no operators were profiled."""
    folder = layout.worker_folder(worker)
    if OPERATIONS.name not in job.backend.folders(folder):
        return {}
    with job.results() as results:
        return module_shares(results.operators(worker=worker).profiles, _WITH_MODULES)


def _children(row: Mapping[str, Any], shares: Mapping[str, float]) -> list[dict[str, Any]]:
    """The most expensive modules of a phase, estimated from the profiled steps."""
    return [
        {"name": name, "seconds": share * row["seconds"], "share": share * row["share"]}
        for name, share in list(shares.items())[:_MAX_MODULES]
    ]


def phase_rows(events: Intervals, window: TimeRange) -> list[dict[str, Any]]:
    """The phases in a window: time, count and share.

    Time counts once: a collective inside a backward pass counts as collective time.
    """
    inside = events.of(PHASE, USER).within(window)
    own_ns = inside.own_ns(window)
    window_seconds = ((window.end_ns or 0) - (window.start_ns or 0)) / NANOSECONDS
    names = np.array([lane.name for lane in inside.lanes], dtype=object)
    rows = []
    for name in sorted(set(names.tolist()), key=lambda name: (_ORDER.get(name, 99), name)):
        numbers = np.flatnonzero(names == name)
        is_lane = np.isin(inside.numbers, numbers)
        if is_lane.any():
            rows.append({"name": name, **_totals(own_ns[is_lane], window_seconds)})
    return [*rows, *_between(events.of(STEP).clipped(window), inside, window_seconds)]


def _between(steps: Intervals, phases: Intervals, window_seconds: float) -> list[dict[str, Any]]:
    """The time of steps outside any phase."""
    stepped = Extents.of(steps.starts_ns, steps.ends_ns)
    rest = (stepped - Extents.of(phases.starts_ns, phases.ends_ns)).total_ns / NANOSECONDS
    if not rest:
        return []
    count = len(steps.starts_ns)
    totals = {"count": count, "seconds": rest, "mean": rest / count, "p95": None}
    return [{"name": Phase.BETWEEN.value, **totals, "share": rest / window_seconds}]


def _totals(lasted_ns: Any, window_seconds: float) -> dict[str, Any]:
    durations = durations_of(lasted_ns / NANOSECONDS)
    seconds = float(lasted_ns.sum()) / NANOSECONDS
    return {
        "count": durations.count,
        "seconds": seconds,
        "mean": durations.mean if durations.count else None,
        "p95": durations.p95 if durations.count else None,
        "share": seconds / window_seconds if window_seconds else 0.0,
    }


def system_means(job: SharedJob, node: str, window: TimeRange) -> dict[str, Any]:
    """The mean of each metric in a window: of the node, or of each device and of all devices."""
    means_by_metric: dict[str, Any] = {}
    with job.node(node) as reader:
        for metric in _METRICS:
            series = main_series(reader, metric)
            if not series:
                continue
            _, values = reader.samples(series, window)
            entry: dict[str, Any] = {"unit": series[0].metric.unit, "mean": _mean(values)}
            if series[0].device:
                devices = (each.device for each in series)
                entry["devices"] = dict(zip(devices, map(_mean, values), strict=True))
            means_by_metric[metric] = entry
    return means_by_metric


def _mean(values: Floats) -> float | None:
    mean = mean_of_samples(values)
    return None if np.isnan(mean) else mean


def _node(facts: JobFacts, worker: int | None) -> str:
    """The node of a worker's last attempt; the first node by default."""
    lives = sorted(facts.lives, key=lambda life: life.info.start_ns)
    nodes = [life.info.node for life in lives if life.info.rank == worker]
    candidates = [node for node in nodes if node in facts.nodes]
    return candidates[-1] if candidates else facts.nodes[0]
