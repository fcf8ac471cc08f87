"""A job without a command, in memory or in a folder."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sonde.client.job import Job
from sonde.read.new_samples import NewSampleReader
from sonde.read.system import SystemReader
from sonde.records.job import (
    Attempt,
    Exit,
    ExitReason,
    Heartbeat,
    JobInfo,
    JobState,
    Launcher,
    Overhead,
)
from sonde.records.metric import MetricInfo, Series
from sonde.store.backends import Backend, open_backend
from sonde.store.closing import write_closing
from sonde.store.facts import encode_facts
from sonde.store.format import SYSTEM, Family
from sonde.store.layout import JOB, attempt_key, node_folder
from sonde.store.reader import FolderReader
from sonde.store.seal import FamilyFolder, seal_folder
from sonde.store.writer import Writer
from tests.fakes.clock import FakeClock
from tests.fakes.worker import FakeWorker

Curves = Mapping[str, Iterable[float]]


def series_of(key: str) -> Series:
    """Return the series of a key like `cpu.user_percent` or `gpu.power_watts/gpu0`."""
    metric, _, device = key.partition("/")
    unit = metric.rpartition("_")[2]
    return Series(MetricInfo(metric, unit, f"what {metric} means"), device)


class FakeJob:
    """A node of a job; several with the same URI are the nodes of one job."""

    def __init__(self, uri: str = "", node: str = "node-a", clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.node = node
        self.backend: Backend = open_backend(uri or f"memory://{uuid.uuid4().hex}/job")
        name = self.backend.uri.rstrip("/").rpartition("/")[2]
        self.backend.create(JOB, encode_facts(JobInfo(name, self.clock.now_ns(), node)))
        self._document("start", self._attempt())
        self.writer = Writer(self.backend, node_folder(node), self.clock)
        self._series: dict[tuple[str, ...], tuple[Series, ...]] = {}

    def start(self, **facts: Any) -> "FakeJob":
        """Change facts about the start of the command."""
        self._document("start", replace(self._attempt(), **facts))
        return self

    def record(
        self, curves: Curves, every_seconds: float = 0.5, ticks_per_flush: int = 4
    ) -> "FakeJob":
        """Record one sample per tick and flush periodically."""
        keys = tuple(curves)
        series = self._series.setdefault(keys, tuple(map(series_of, keys)))
        for tick, values in enumerate(zip(*curves.values(), strict=True), 1):
            self.writer.add_sample(self.clock.now_ns(), series, values)
            self.clock.advance(every_seconds)
            if tick % ticks_per_flush == 0:
                self.flush()
        return self.flush()

    def rotate(self) -> "FakeJob":
        """Start a new segment with the next sample, as a changed set of series does."""
        self.flush()
        self._series = {}
        return self

    def flush(self) -> "FakeJob":
        """Write everything recorded so far to the store."""
        self.writer.flush()
        self.writer.outbox.write_waiting()
        return self

    def beat(self) -> "FakeJob":
        """Write a heartbeat of the launcher."""
        self._document("heartbeat", Heartbeat(self.clock.now_ns(), 5.0, Overhead(0.5, 100, 5)))
        return self

    def end(self, state: JobState = JobState.COMPLETED) -> "FakeJob":
        """Record that the command has completed."""
        self.flush()
        self._document("exit", Exit(state, ExitReason.EXIT, self.clock.now_ns(), code=0))
        return self

    def close(self) -> "FakeJob":
        """End the job and let its launcher list what was recorded."""
        self.end()
        exit_ = Exit(JobState.COMPLETED, ExitReason.EXIT, self.clock.now_ns(), code=0)
        now_ns = self.clock.now_ns()
        write_closing(self.backend, self._attempt(), exit_, now_ns, with_workers=True)
        return self

    def worker(self, rank: int = 0, attempt: int = 1, restart: int = 0, **facts: Any) -> FakeWorker:
        """Start a training process on this node."""
        facts = {"node": self.node, **facts}
        return FakeWorker(self.backend, self.clock, rank, attempt, restart, **facts)

    def fail(
        self,
        reason: ExitReason = ExitReason.EXIT,
        message: str = "exit code 1",
        code: int = 1,
        state: JobState = JobState.FAILED,
    ) -> "FakeJob":
        """Record that the command has failed."""
        exit_ = Exit(state, reason, self.clock.now_ns(), code=code, message=message)
        self.flush()._document("exit", exit_)
        return self

    def seal(
        self, family: Family = SYSTEM, *, is_over: bool = True, merge_all: bool = False
    ) -> int:
        """Seal the segments of this node and return how many were written."""
        folder = FamilyFolder(self.backend, node_folder(self.node), family)
        return seal_folder(folder, is_over=is_over, merge_all=merge_all)

    def reader(self, family: Family = SYSTEM) -> FolderReader:
        """Return a new reader of the segments of this node."""
        reader = FolderReader(self.backend, node_folder(self.node), family)
        reader.refresh()
        return reader

    def system(self) -> SystemReader:
        """Return a new reader of the samples of this node."""
        return SystemReader(self.backend, self.node)

    def follower(self) -> NewSampleReader:
        """Return a reader of new samples, starting at the first."""
        return NewSampleReader(self.backend, self.node)

    def job(self) -> Job:
        """Return the job as the Python API opens it."""
        return Job(self.backend, self.clock)

    def stored(self, ending: str = "") -> list[str]:
        """Return the keys in the store with this ending."""
        return [entry.key for entry in self.backend.entries("") if entry.key.endswith(ending)]

    def _document(self, what: str, record: object) -> None:
        key = attempt_key(self.node, 1, what)
        self.backend.write(key, encode_facts(record, key))

    def _attempt(self) -> Attempt:
        return Attempt(
            node=self.node,
            number=1,
            start_ns=self.clock.now_ns(),
            command=("python", "train.py"),
            folder="/home/user",
            process_pid=1,
            launcher=Launcher(1, "0", "elsewhere"),
            interval_seconds=0.5,
        )


def all_samples(reader: FolderReader) -> dict[str, dict[int, float]]:
    """Return all recorded values by series and time."""
    keys = [series.key for series in reader.series]
    times, values = reader.samples(keys)
    return {
        key: {
            int(time): float(value)
            for time, value in zip(times, row, strict=True)
            if not np.isnan(value)
        }
        for key, row in zip(keys, values, strict=True)
    }
