"""The current state of a job and its machines; None where a value is unknown."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sonde.analyze.resources import BUSY_GPU_PERCENT
from sonde.clock import NANOSECONDS, Clock, iso
from sonde.read.findings import (
    EpisodesReader,
    episode_document,
    evaluation_document,
    read_evaluations,
)
from sonde.read.jobs import JobFacts, NodeAttempt
from sonde.read.open_job import OpenJob
from sonde.read.status import status_document
from sonde.read.system import SystemReader
from sonde.read.training import Training, read_recent_training
from sonde.records.documents import FindingDocument, StatusDocument
from sonde.records.job import JobState
from sonde.results.headline import Figure, headline
from sonde.results.job import JobResults
from sonde.results.recent_samples import COLUMN_SECONDS, COLUMNS, Recent
from sonde.results.rule_coverage import coverage_in
from sonde.results.rule_verdict import root_first, verdict
from sonde.store.backends import Backend

_MAX_WORKERS = 8  # whose steps are read; workers of a distributed training progress together
_HEADLINE_SECONDS = 2.0  # at least, between two readings of the headline
_MAX_HEADLINE_SHARE = 0.1  # of the time is spent reading it
_SILENT_SECONDS = 15.0  # a node without samples for this time (plus a few intervals) is silent


@dataclass(frozen=True, slots=True)
class Level:
    """Used and total bytes."""

    used_bytes: float | None
    total_bytes: float | None

    @property
    def percent(self) -> float | None:
        """The used share."""
        if self.used_bytes is None or not self.total_bytes:
            return None
        return 100 * self.used_bytes / self.total_bytes


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU."""

    device: str
    utilization_percent: float | None
    memory: Level
    power_watts: float | None
    power_limit_watts: float | None
    temperature_celsius: float | None
    throttled_by: tuple[str, ...]
    history: tuple[float | None, ...]

    @property
    def is_busy(self) -> bool:
        """Whether it is not idle."""
        return (self.utilization_percent or 0.0) >= BUSY_GPU_PERCENT


@dataclass(frozen=True, slots=True)
class Processor:
    """The CPU as a whole, and each core."""

    percent: float | None
    iowait_percent: float | None
    available_cores: float | None
    cores: tuple[tuple[str, float | None], ...]
    history: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """The node's memory, and the job's cgroup limit if there is one."""

    node: Level
    limit: Level | None
    history: tuple[float | None, ...]

    @property
    def worst_percent(self) -> float | None:
        """The used share of whichever is closer to its limit."""
        shares = [level.percent for level in (self.node, self.limit) if level is not None]
        return max((share for share in shares if share is not None), default=None)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes per second through all disks and all network interfaces."""

    disk_read: float | None
    disk_write: float | None
    disk_busy_percent: float | None
    network_in: float | None
    network_out: float | None


@dataclass(frozen=True, slots=True)
class Processes:
    """The job's processes in total."""

    count: float | None
    threads: float | None
    cpu_percent: float | None  # of one core
    rss_bytes: float | None
    cpu_history: tuple[float | None, ...]
    rss_history: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Space:
    """Free space on a file system that the job uses."""

    mount: str
    free_bytes: float | None
    free_percent: float | None


@dataclass(frozen=True, slots=True)
class NodeNow:
    """One machine of the job."""

    node: str
    state: JobState
    silent_seconds: float | None  # since its last sample
    is_silent: bool  # whether that is too long
    processor: Processor
    memory: Memory
    gpus: tuple[Gpu, ...]
    traffic: Traffic
    processes: Processes
    spaces: tuple[Space, ...]

    @property
    def busy_gpus(self) -> int:
        """The number of busy GPUs."""
        return sum(gpu.is_busy for gpu in self.gpus)


@dataclass(frozen=True, slots=True)
class JobNow:
    """The status document of a job and the state of its nodes."""

    status: StatusDocument
    time_ns: int
    is_over: bool
    nodes: tuple[NodeNow, ...]
    findings: tuple[FindingDocument, ...] = ()  # causes before consequences, the most severe first
    headline: tuple[Figure, ...] = ()
    sentence: str = ""  # the verdict of the rules, if any have run

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        keys = ("job", "state", "exit", "start_time", "end_time", "duration_seconds", "overhead")
        status: Mapping[str, Any] = self.status
        return {
            "time": iso(self.time_ns),
            **{key: status[key] for key in keys},
            **{key: self.status[key] for key in ("steps", "phases", "losses", "workers")},
            "seen": self.status["seen"],
            "coverage": coverage_in(self.status).document(),
            "headline": [asdict(figure) for figure in self.headline],
            "verdict": self.sentence,
            "findings": self.findings,
            "lost": self.status["lost"],
            "not_collected": self.status["not_collected"],
            "history_column_seconds": COLUMN_SECONDS,
            "nodes": [asdict(node) for node in self.nodes],
        }


class Observer:
    """Polls a job repeatedly and reads only new data."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._opened = OpenJob(backend, clock)
        self._results = JobResults(self._opened)
        self._clock = clock
        self._is_first = True
        self._episodes = EpisodesReader(backend)
        self._headline: tuple[Figure, ...] = ()
        self._due = -math.inf

    def poll(self, node: str | None = None) -> JobNow:
        """The current state of the job, with all its nodes or a single one."""
        if not self._is_first:
            self._opened.refresh()
        self._is_first = False
        facts, now_ns = self._opened.facts, self._opened.now_ns
        attempts = [each for each in facts.latest if node in (None, each.attempt.node)]
        # many nodes are shown in a line each, without history
        columns = COLUMNS if len(attempts) == 1 else 0
        nodes = tuple(self._node(each, now_ns, columns) for each in attempts)
        status = status_document(facts, now_ns, training=self._training(facts, now_ns))
        evaluations = read_evaluations(self._opened.backend, [], self._episodes)
        status["rules"] = [evaluation_document(evaluation) for evaluation in evaluations]
        episodes = root_first(episode for rule in evaluations for episode in rule.episodes)
        findings = tuple(episode_document(each) for each in episodes)
        sentence = verdict(evaluations, self._results.seen) if evaluations else ""
        is_over, figures = facts.state.is_over, self._figures()
        return JobNow(status, now_ns, is_over, nodes, findings, figures, sentence)

    def _figures(self) -> tuple[Figure, ...]:
        """The headline, which reads more than the last samples: kept for a while."""
        began = self._clock.seconds()
        if began >= self._due or self._opened.facts.state.is_over:
            self._headline = headline(self._results)
            now = self._clock.seconds()
            self._due = now + max(_HEADLINE_SECONDS, (now - began) / _MAX_HEADLINE_SHARE)
        return self._headline

    def _training(self, facts: JobFacts, now_ns: int) -> Training:
        readers = tuple(self._opened.worker(int(rank)) for rank in facts.workers[:_MAX_WORKERS])
        return read_recent_training(readers, facts, now_ns)

    def _node(self, attempt: NodeAttempt, now_ns: int, columns: int) -> NodeNow:
        return node_now(self._opened.node(attempt.attempt.node), attempt, now_ns, columns)


def node_now(reader: SystemReader, attempt: NodeAttempt, now_ns: int, columns: int) -> NodeNow:
    """The current state of a node."""
    beat = attempt.heartbeat
    interval = (beat and beat.interval_seconds) or attempt.attempt.interval_seconds
    recent = Recent(reader, interval, columns)
    extent = reader.extent
    silent = None if extent is None else max(0.0, (now_ns - extent.last_ns) / NANOSECONDS)
    since_start = (now_ns - attempt.attempt.start_ns) / NANOSECONDS
    patience = _SILENT_SECONDS + 3 * interval + (beat.every_seconds if beat else 0)
    return NodeNow(
        node=reader.node,
        state=attempt.state,
        silent_seconds=silent,
        is_silent=not attempt.state.is_over
        and (since_start if silent is None else silent) > patience,
        processor=_processor(recent),
        memory=_memory(recent),
        gpus=tuple(_gpu(recent, device) for device in recent.devices("gpu.utilization_percent")),
        traffic=_traffic(recent),
        processes=_processes(recent),
        spaces=_spaces(recent),
    )


def _processor(recent: Recent) -> Processor:
    metric = "cpu.utilization_percent"
    return Processor(
        percent=recent.now(metric),
        iowait_percent=recent.now("cpu.iowait_percent"),
        available_cores=recent.last("cgroup.cpus_available"),
        cores=tuple(
            (device, recent.now(f"{metric}/{device}")) for device in recent.devices(metric)
        ),
        history=recent.history(metric),
    )


def _memory(recent: Recent) -> Memory:
    node = Level(recent.now("memory.used_bytes"), recent.last("memory.total_bytes"))
    limit = recent.last("cgroup.memory_limit_bytes")
    used = recent.last("cgroup.memory_used_bytes")
    if used is not None:  # reclaimable page cache does not lead to an out-of-memory kill
        used = max(0.0, used - (recent.last("cgroup.memory_reclaimable_bytes") or 0.0))
    is_tighter = limit is not None and (node.total_bytes is None or limit < node.total_bytes)
    return Memory(
        node=node,
        limit=Level(used, limit) if is_tighter else None,
        history=recent.history("memory.used_percent"),
    )


def _gpu(recent: Recent, device: str) -> Gpu:
    reasons = {"heat": "thermal", "power": "power", "hardware": "hardware"}
    return Gpu(
        device=device,
        utilization_percent=recent.now(f"gpu.utilization_percent/{device}"),
        memory=Level(
            recent.now(f"gpu.memory_used_bytes/{device}"),
            recent.last(f"gpu.memory_total_bytes/{device}"),
        ),
        power_watts=recent.now(f"gpu.power_watts/{device}"),
        power_limit_watts=recent.last(f"gpu.power_limit_watts/{device}"),
        temperature_celsius=recent.now(f"gpu.temperature_celsius/{device}"),
        throttled_by=tuple(
            text
            for text, name in reasons.items()
            if (recent.now(f"gpu.throttled_{name}/{device}") or 0.0) >= 0.5
        ),
        history=recent.history(f"gpu.utilization_percent/{device}"),
    )


def _processes(recent: Recent) -> Processes:
    return Processes(
        count=recent.now("process_tree.processes"),
        threads=recent.now("process_tree.threads"),
        cpu_percent=recent.now("process_tree.cpu_percent"),
        rss_bytes=recent.now("process_tree.rss_bytes"),
        cpu_history=recent.history("process_tree.cpu_percent"),
        rss_history=recent.history("process_tree.rss_bytes"),
    )


def _spaces(recent: Recent) -> tuple[Space, ...]:
    return tuple(
        Space(
            mount,
            recent.last(f"disk.free_bytes/{mount}"),
            recent.last(f"disk.free_percent/{mount}"),
        )
        for mount in recent.devices("disk.free_bytes")
    )


def _traffic(recent: Recent) -> Traffic:
    return Traffic(
        disk_read=_total(recent, "disk.read_bytes_per_second"),
        disk_write=_total(recent, "disk.write_bytes_per_second"),
        disk_busy_percent=max(_each(recent, "disk.busy_percent"), default=None),
        network_in=_total(recent, "network.receive_bytes_per_second"),
        network_out=_total(recent, "network.transmit_bytes_per_second"),
    )


def _total(recent: Recent, metric: str) -> float | None:
    values = _each(recent, metric)
    return float(np.sum(values)) if values else None


def _each(recent: Recent, metric: str) -> Sequence[float]:
    values = (recent.now(f"{metric}/{device}") for device in recent.devices(metric))
    return [value for value in values if value is not None]
