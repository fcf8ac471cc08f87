"""A fake training process that writes what the hook would write."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.clock import NANOSECONDS
from sonde.records.job import ExitReason
from sonde.records.notice import NoticeKind
from sonde.records.worker import Failure, TensorIndex, TensorInfo, WorkerBeat, WorkerInfo
from sonde.store.backends import Backend
from sonde.store.facts import encode_facts
from sonde.store.format import (
    EVENTS,
    FAMILIES,
    LOGS,
    OBSERVATIONS,
    OPERATIONS,
    SCALARS,
    STATISTICS,
    Family,
)
from sonde.store.layout import values_key, worker_folder, worker_key
from sonde.store.seal import FamilyFolder, seal_folder
from sonde.store.statistics import BINS, bin_of, encode_histogram
from sonde.store.tensors import RawTensor, encode_tensors
from sonde.store.writer import Writer
from tests.fakes.clock import FakeClock

Phases = Mapping[str, float]
Array = npt.NDArray[Any]

_DTYPES = {"float32": "F32", "float64": "F64", "int64": "I64", "float16": "F16", "bool": "BOOL"}


class FakeWorker:
    """An attempt of a rank."""

    def __init__(
        self,
        backend: Backend,
        clock: FakeClock,
        rank: int = 0,
        attempt: int = 1,
        restart: int = 0,
        **facts: Any,
    ) -> None:
        self.backend = backend
        self.clock = clock
        self.rank = rank
        self._place = (rank, attempt, restart)
        self._tensors: dict[str, TensorInfo] = {}
        self._steps: dict[str, int] = {}
        self.writer = Writer(backend, worker_folder(rank), clock)
        facts = {"node": "node-a", "pid": 100 + rank, "framework": "torch", **facts}
        self.info = WorkerInfo(
            rank=rank, attempt=attempt, restart=restart, start_ns=clock.now_ns(), **facts
        )
        self.document("start", self.info)

    def document(self, what: str, record: object) -> "FakeWorker":
        """Write a document about this attempt."""
        key = worker_key(*self._place, what)
        self.backend.write(key, encode_facts(record, key))
        return self

    def span(
        self,
        name: str,
        start: float,
        seconds: float,
        step: int = 0,
        category: str = "phase",
        **more: str,
    ) -> "FakeWorker":
        """Record an event that starts `start` seconds from now."""
        start_ns = self.clock.now_ns() + round(start * NANOSECONDS)
        lane, mode = more.get("lane", "main"), more.get("mode", "train")
        duration_ns = round(seconds * NANOSECONDS)
        detail = more.get("detail", "")
        self.writer.add(EVENTS, (name, category, lane, start_ns, duration_ns, step, mode, detail))
        return self

    def step(
        self, number: int, phases: Phases, *, mode: str = "train", rest: float = 0.0, **detail: Any
    ) -> "FakeWorker":
        """Record a step: its consecutive phases, then `rest` seconds outside of all phases."""
        begin = 0.0
        for name, seconds in phases.items():
            self.span(name, begin, seconds, number, mode=mode)
            begin += seconds
        text = json.dumps(detail, separators=(",", ":")) if detail else ""
        self.span("step", 0.0, begin + rest, number, "step", mode=mode, detail=text)
        self.clock.advance(begin + rest)
        self._steps[mode] = self._steps.get(mode, 0) + 1
        return self

    def line(self, text: str, step: int = 0, stream: str = "stdout") -> "FakeWorker":
        """Record a line of output."""
        self.writer.add(LOGS, (self.clock.now_ns(), step, "train", stream, text))
        return self

    def operation(
        self, name: str, category: str, start: float, seconds: float, **more: Any
    ) -> "FakeWorker":
        """Record an operation of a profile that starts `start` seconds from now."""
        start_ns = self.clock.now_ns() + round(start * NANOSECONDS)
        duration_ns = round(seconds * NANOSECONDS)
        lane, device = more.get("lane", "thread 1"), more.get("device", "cpu")
        self_ns, correlation = more.get("self_ns", duration_ns), more.get("correlation", -1)
        row = (name, category, lane, device, start_ns, duration_ns, self_ns, correlation)
        detail = more.get("detail", "")
        text = detail if isinstance(detail, str) else json.dumps(detail, separators=(",", ":"))
        self.writer.add(OPERATIONS, (*row, more.get("module", ""), text))
        return self

    def scalar(
        self, name: str, step: int, value: float, mode: str = "train", source: str = "hook"
    ) -> "FakeWorker":
        """Record a scalar."""
        self.writer.add(SCALARS, (name, self.clock.now_ns(), step, mode, value, source))
        return self

    def observation(
        self, kind: str, subject: str, step: int, detail: object = "", **more: Any
    ) -> "FakeWorker":
        """Record an observation; a detail that is not a text is written as JSON."""
        text = detail if isinstance(detail, str) else json.dumps(detail, separators=(",", ":"))
        mode, value = more.get("mode", "train"), float(more.get("value", 0.0))
        row = (kind, subject, self.clock.now_ns(), step, mode, value, text)
        self.writer.add(OBSERVATIONS, row)
        return self

    def statistics(
        self, name: str, step: int, values: Sequence[float] | Array, mode: str = "train"
    ) -> "FakeWorker":
        """Record the statistics of a tensor, with its histogram."""
        row = statistics_of(np.asarray(values, dtype=np.float64))
        self.writer.add(STATISTICS, (name, self.clock.now_ns(), step, mode, *row))
        return self.add_tensor(name)

    def add_tensor(
        self, name: str, *collections: str, is_shard: bool = False, **facts: Any
    ) -> "FakeWorker":
        """Add a tensor to the index, unless it is there already."""
        shape, dtype = facts.get("shape", (2, 3)), facts.get("dtype", "float32")
        info = TensorInfo(name, collections, dtype, shape, is_shard, facts.get("note", ""))
        self._tensors.setdefault(name, info)
        return self.document("tensors", TensorIndex(tuple(self._tensors.values())))

    def values(
        self, step: int, tensors: Mapping[str, Array | RawTensor], mode: str = "train"
    ) -> "FakeWorker":
        """Save complete tensors of a step."""
        raw = {name: _raw(tensor) for name, tensor in tensors.items()}
        key = values_key(self.rank, mode, step, self.writer.token)
        facts = {"time_ns": str(self.clock.now_ns()), "key": key}
        self.backend.write(key, encode_tensors(raw, facts))
        for name in tensors:
            self.add_tensor(name)
        return self

    def notice(self, what: str, reason: str) -> "FakeWorker":
        """Record that something is not collected."""
        self.writer.notice(NoticeKind.NOT_COLLECTED, what, reason)
        return self

    def fail(
        self, message: str, reason: ExitReason = ExitReason.EXCEPTION, collective: str = ""
    ) -> "FakeWorker":
        """Record a failure with an exception."""
        trace = f"Traceback (most recent call last):\n  …\n{message}"
        failure = Failure(
            self.rank, self.clock.now_ns(), reason, message, trace, collective=collective
        )
        return self.document("failure", failure)

    def beat(
        self, hook_seconds: float = 0.0, training_seconds: float = 0.0, *, is_over: bool = False
    ) -> "FakeWorker":
        """Write a heartbeat."""
        now_ns = self.clock.now_ns()
        cost = (hook_seconds, 2 * hook_seconds, training_seconds, 1000)
        return self.document("beat", WorkerBeat(now_ns, self._steps, *cost, is_over=is_over))

    def flush(self) -> "FakeWorker":
        """Write everything recorded so far to the store."""
        self.writer.flush()
        self.writer.outbox.write_waiting()
        return self

    def seal(self) -> "FakeWorker":
        """Seal everything recorded so far as Parquet."""
        self.flush()
        for family in FAMILIES.values():
            seal_folder(self._home(family), is_over=True, merge_all=True)
        return self

    def _home(self, family: Family) -> FamilyFolder:
        return FamilyFolder(self.backend, worker_folder(self.rank), family)


def statistics_of(values: Array) -> tuple[Any, ...]:
    """Return the columns of a row of statistics, starting with the count."""
    finite = values[np.isfinite(values)].reshape(-1)
    counts = [0] * BINS
    for value in finite[finite != 0]:
        counts[bin_of(float(value))] += 1
    magnitudes = np.abs(finite)
    return (
        values.size,
        int(np.isnan(values).sum()),
        int(np.isinf(values).sum()),
        int((finite == 0).sum()),
        float(finite.min()) if finite.size else np.nan,
        float(finite.max()) if finite.size else np.nan,
        float(magnitudes.min()) if finite.size else np.nan,
        float(finite.sum()),
        float((finite**2).sum()),
        float(magnitudes.sum()),
        encode_histogram(counts),
    )


def _raw(array: Array | RawTensor) -> RawTensor:
    if isinstance(array, RawTensor):
        return array
    return RawTensor(_DTYPES[str(array.dtype)], array.shape, array.tobytes())
