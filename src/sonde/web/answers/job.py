"""One job: its status document and what the dashboard needs to load first."""

from collections.abc import Sequence
from typing import Any

from sonde.analyze.natural_sort import natural_sort_key
from sonde.clock import NANOSECONDS
from sonde.read.actions import read_actions
from sonde.read.findings import evaluation_document, read_evaluations
from sonde.read.jobs import JobFacts
from sonde.read.status import status_document
from sonde.read.training import Training, read_training
from sonde.records.job import JobState
from sonde.results.coverage import unrecorded_line
from sonde.results.rule_coverage import coverage_in
from sonde.results.verdict import verdict
from sonde.settings import PROFILERS
from sonde.store import layout
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.documents import NodeDocument, ProfilerDocument, WorkerDocument
from sonde.web.live_updates import findings_document, sampling_document
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply
from sonde.web.shared_job import SharedJob

_TRAINING_SECONDS = 1.0
_MAX_WORKERS = 32  # whose steps are summed; all workers of a distributed job run the same steps
_FAMILIES = ("events", "scalars", "statistics", "operations")


class JobEndpoints(EndpointGroup):
    """`jobs/NAME`: everything but curves."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}", _job, is_cached=False),)


def _job(query: Query) -> Reply:
    job = query.job
    facts, extent, now_ns = job.facts, job.extent, job.clock.now_ns()
    status = _status(job, facts)
    is_running = any(node.state is JobState.RUNNING for node in facts.latest)
    return json_reply(
        {
            **status,
            "now": now_ns / NANOSECONDS,
            "t0": (extent.start_ns or 0) / NANOSECONDS,
            "t1": (extent.end_ns or 0) / NANOSECONDS,
            "verdict": verdict(status),
            "not_seen": unrecorded_line(status["seen"]),
            "findings": findings_document(job),
            **sampling_document(facts),
            "nodes": [_node(job, name) for name in facts.nodes],
            "workers": _workers(facts),
            "has": _has(job, facts),
            "controls": {
                "stop": is_running,
                "set": is_running,
                "profile": is_running and bool(facts.lives),
                "delete": not is_running and facts.info is not None,
            },
            "profilers": _profilers(),
        }
    )


def _profilers() -> list[ProfilerDocument]:
    return [
        ProfilerDocument(
            kind=kind.value, title=profiler.title, runs_by_default=profiler.runs_by_default
        )
        for kind, profiler in PROFILERS.items()
    ]


def _status(job: SharedJob, facts: JobFacts) -> dict[str, Any]:
    """The document that `sonde status --json` prints; training totals may be a second old."""
    damages: list[str] = []
    training = job.cached("training", _TRAINING_SECONDS, lambda: _training(job, facts))
    actions = read_actions(job.backend, damages)
    with job.episodes() as reader:
        evaluations = read_evaluations(job.backend, damages, reader)
    status = status_document(facts, job.clock.now_ns(), damages, training)
    status["rules"] = [evaluation_document(evaluation, actions) for evaluation in evaluations]
    return {**status, "coverage": coverage_in(status).document()}


def _training(job: SharedJob, facts: JobFacts) -> Training:
    with job.workers([int(rank) for rank in facts.workers[:_MAX_WORKERS]]) as readers:
        return read_training(readers, facts, job.clock.now_ns())


def _node(job: SharedJob, name: str) -> NodeDocument:
    with job.node(name) as reader:
        cores = [series for series in reader.series("cpu.utilization_percent") if series.device]
        gpus = [
            series.device for series in reader.series("gpu.utilization_percent") if series.device
        ]
    gpus.sort(key=natural_sort_key)
    return {"name": name, "cores": len(cores), "gpus": gpus, "has_gpu": bool(gpus)}


def _workers(facts: JobFacts) -> list[WorkerDocument]:
    """Each rank with the node and device of its last attempt."""
    lives = {
        life.info.rank: life for life in sorted(facts.lives, key=lambda life: life.info.start_ns)
    }
    return [
        {
            "rank": rank,
            "node": lives[rank].info.node if rank in lives else None,
            "device": lives[rank].info.device if rank in lives else None,
        }
        for rank in map(int, facts.workers)
    ]


def _has(job: SharedJob, facts: JobFacts) -> dict[str, bool]:
    """The kinds of data that the first worker has recorded."""
    families = dict.fromkeys(_FAMILIES, False)
    profiles: list[str] = []
    for rank in facts.workers[:1]:
        folder = layout.worker_folder(int(rank))
        inside = job.backend.folders(folder)
        families = {name: name in inside for name in _FAMILIES}
        if "profiles" in inside:
            entries = job.backend.entries(f"{folder}/profiles")
            profiles = [entry.key.rpartition("/")[2] for entry in entries]
    return {
        "samples": bool(facts.nodes),
        "steps": families["events"],
        "scalars": families["scalars"],
        "tensors": families["statistics"],
        "operators": families["operations"],
        "timeline": families["events"] or families["operations"],
        "python": any(name.startswith("python") for name in profiles),
    }
