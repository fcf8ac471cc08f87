"""A job without a command: built in three lines, in memory or in a folder."""

import uuid
from collections.abc import Iterable, Mapping
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
    """The series that a key like `cpu.user_percent` or `gpu.power_watts/gpu0` names."""
    metric, _, device = key.partition("/")
    unit = metric.rpartition("_")[2]
    return Series(MetricInfo(metric, unit, f"what {metric} means"), device)


class FakeJob:
    """One node's part of a job; several on one address are the nodes of one job."""

    def __init__(self, uri: str = "", node: str = "node-a", clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.node = node
        self.backend: Backend = open_backend(uri or f"memory://{uuid.uuid4().hex}/job")
        name = self.backend.uri.rstrip("/").rpartition("/")[2]
        self.backend.create(JOB, encode_facts(JobInfo(name, self.clock.now_ns(), node)))
        self._document("start", self._attempt())
        self.writer = Writer(self.backend, node_folder(node), self.clock)
        self._series: dict[tuple[str, ...], tuple[Series, ...]] = {}

    def record(
        self, curves: Curves, every_seconds: float = 0.5, ticks_per_flush: int = 4
    ) -> "FakeJob":
        """Samples, tick by tick, each series with its own values; flushed now and then."""
        keys = tuple(curves)
        series = self._series.setdefault(keys, tuple(map(series_of, keys)))
        for tick, values in enumerate(zip(*curves.values(), strict=True), 1):
            self.writer.add_sample(self.clock.now_ns(), series, values)
            self.clock.advance(every_seconds)
            if tick % ticks_per_flush == 0:
                self.flush()
        return self.flush()

    def rotate(self) -> "FakeJob":
        """Makes the next sample begin a new segment, as a changed set of series does."""
        self.flush()
        self._series = {}
        return self

    def flush(self) -> "FakeJob":
        """Everything recorded so far is in the store afterwards."""
        self.writer.flush()
        self.writer.outbox.write_waiting()
        return self

    def beat(self) -> "FakeJob":
        """A sign of life of the launcher."""
        self._document("heartbeat", Heartbeat(self.clock.now_ns(), 5.0, Overhead(0.5, 100, 5)))
        return self

    def end(self, state: JobState = JobState.COMPLETED) -> "FakeJob":
        """The command is over."""
        self.flush()
        self._document("exit", Exit(state, ExitReason.EXIT, self.clock.now_ns(), code=0))
        return self

    def close(self) -> "FakeJob":
        """The command is over, and its launcher lists what was recorded."""
        self.end()
        exit_ = Exit(JobState.COMPLETED, ExitReason.EXIT, self.clock.now_ns(), code=0)
        now_ns = self.clock.now_ns()
        write_closing(self.backend, self._attempt(), exit_, now_ns, with_workers=True)
        return self

    def worker(self, rank: int = 0, attempt: int = 1, restart: int = 0, **facts: Any) -> FakeWorker:
        """A training process on this node that starts now."""
        facts = {"node": self.node, **facts}
        return FakeWorker(self.backend, self.clock, rank, attempt, restart, **facts)

    def fail(
        self,
        reason: ExitReason = ExitReason.EXIT,
        message: str = "exit code 1",
        code: int = 1,
        state: JobState = JobState.FAILED,
    ) -> "FakeJob":
        """The command is over, and not well."""
        exit_ = Exit(state, reason, self.clock.now_ns(), code=code, message=message)
        self.flush()._document("exit", exit_)
        return self

    def seal(
        self, family: Family = SYSTEM, *, is_over: bool = True, merge_all: bool = False
    ) -> int:
        """Seals this node's segments; returns how many were written."""
        place = FamilyFolder(self.backend, node_folder(self.node), family)
        return seal_folder(place, is_over=is_over, merge_all=merge_all)

    def reader(self, family: Family = SYSTEM) -> FolderReader:
        """A fresh look at this node's segments."""
        reader = FolderReader(self.backend, node_folder(self.node), family)
        reader.refresh()
        return reader

    def system(self) -> SystemReader:
        """A fresh look at this node's samples."""
        return SystemReader(self.backend, self.node)

    def follower(self) -> NewSampleReader:
        """One that has seen nothing yet."""
        return NewSampleReader(self.backend, self.node)

    def job(self) -> Job:
        """What a person gets."""
        return Job(self.backend, self.clock)

    def stored(self, ending: str = "") -> list[str]:
        """The keys in the store that end so."""
        return [one.key for one in self.backend.entries("") if one.key.endswith(ending)]

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
    """Every value that is known, by series and instant."""
    keys = [one.key for one in reader.series]
    times, values = reader.samples(keys)
    return {
        key: {
            int(time): float(value)
            for time, value in zip(times, row, strict=True)
            if not np.isnan(value)
        }
        for key, row in zip(keys, values, strict=True)
    }
