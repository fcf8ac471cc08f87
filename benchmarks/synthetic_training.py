"""A synthetic worker that trains at a given speed: the records that the hook would write.

A decreasing loss with noise, scalars of every step, five phases per step, a hash of every batch,
statistics of all weights and gradients at some steps, and inspections. The job is healthy, so rules
read everything and report nothing.
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.clock import NANOSECONDS
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
from sonde.records.worker import TensorIndex, TensorInfo, WorkerBeat, WorkerInfo
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import encode_facts
from sonde.store.format import EVENTS, FAMILIES, OBSERVATIONS, SCALARS, STATISTICS
from sonde.store.seal import FamilyFolder, seal_folder
from sonde.store.writer import Writer

NODE = "node-0"
_PHASES = (("data_wait", 0.04), ("forward", 0.3), ("backward", 0.5), ("optimizer", 0.12))
_INSPECTION_EVERY = 60  # steps
_FLUSH_SECONDS = 2.0


class FakeClock:
    """A clock that the benchmark sets: hours pass in seconds."""

    def __init__(self, start_ns: int) -> None:
        self._start_ns = self._now_ns = start_ns
        self.anchor_ns, self.monotonic_ns = 0, self.now_ns

    def now_ns(self) -> int:
        """Return the current time."""
        return self._now_ns

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return (self._now_ns - self._start_ns) / NANOSECONDS

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Advance the clock instead of waiting."""
        self.move_to(self._now_ns + round(seconds * NANOSECONDS))
        return event.is_set()

    def move_to(self, instant_ns: int) -> None:
        """Set the clock; it never goes back."""
        self._now_ns = max(self._now_ns, instant_ns)


@dataclass(frozen=True)
class Pace:
    """Speed of the training, and what is recorded."""

    steps_per_second: float
    parameters: int
    statistics_every: int  # steps


class Training:
    """One worker on one node, written step by step."""

    def __init__(self, backend: Backend, clock: FakeClock, pace: Pace, seed: int = 1) -> None:
        self.steps = 0
        self._backend = backend
        self._clock = clock
        self._pace = pace
        self._random = np.random.default_rng(seed)
        self._writer = Writer(backend, layout.worker_folder(0), clock)
        self._names = [
            f"{kind}/layers.{number}.weight"
            for kind in ("weight", "gradient")
            for number in range(pace.parameters)
        ]
        now_ns = clock.now_ns()
        backend.write(layout.JOB, encode_facts(JobInfo("job", now_ns, NODE)))
        launcher = Launcher(1, "0", "elsewhere")
        attempt = Attempt(NODE, 1, now_ns, ("python", "train.py"), "/", 1, launcher, 0.5)
        backend.write(layout.attempt_key(NODE, 1, "start"), encode_facts(attempt))
        info = WorkerInfo(0, NODE, 1, 0, pid=100, start_ns=now_ns, framework="torch")
        backend.write(layout.worker_key(0, 1, 0, "start"), encode_facts(info))
        self._write_index()

    def train_until(self, instant_ns: int) -> None:
        """Write all steps that end by then, and advance the clock."""
        step_ns = round(NANOSECONDS / self._pace.steps_per_second)
        while self._clock.now_ns() + step_ns <= instant_ns:
            self._step(step_ns)
        self.flush()

    def flush(self) -> None:
        """Write everything to the store, with heartbeats."""
        self._writer.flush()
        self._writer.outbox.write_waiting()
        now_ns = self._clock.now_ns()
        worker_heartbeat = WorkerBeat(now_ns, {"train": self.steps}, 0.0, 0.0, 0.0, 0)
        self._backend.write(layout.worker_key(0, 1, 0, "beat"), encode_facts(worker_heartbeat))
        heartbeat = Heartbeat(now_ns, _FLUSH_SECONDS, Overhead(0.0, 0, 0.0), now_ns)
        self._backend.write(layout.attempt_key(NODE, 1, "heartbeat"), encode_facts(heartbeat))

    def end(self) -> None:
        """End and seal the job."""
        self.flush()
        for family in FAMILIES.values():
            folder = FamilyFolder(self._backend, layout.worker_folder(0), family)
            seal_folder(folder, is_over=True, merge_all=True)
        exit_ = Exit(JobState.COMPLETED, ExitReason.EXIT, self._clock.now_ns(), code=0)
        self._backend.write(layout.attempt_key(NODE, 1, "exit"), encode_facts(exit_))

    def _step(self, step_ns: int) -> None:
        number, start_ns = self.steps, self._clock.now_ns()
        lasted_ns = round(step_ns * (1 - 0.03 * self._random.random()))
        begin_ns = start_ns
        for name, share in _PHASES:
            length_ns = round(share * lasted_ns)
            row = (name, "phase", "main", begin_ns, length_ns, number, "train", "")
            self._writer.add(EVENTS, row)
            begin_ns += length_ns
        self._writer.add(EVENTS, ("step", "step", "main", start_ns, lasted_ns, number, "train", ""))
        self._clock.move_to(start_ns + step_ns)
        self._scalars(number)
        batch_hash = f"{self._random.integers(2**62):x}"
        self._observe("batch-hash", "inputs", number, 32.0, batch_hash)
        if number % _INSPECTION_EVERY == 0 or number < 20:
            self._inspect(number)
        if number % self._pace.statistics_every == 0:
            self._statistics(number)
        self.steps += 1

    def _scalars(self, number: int) -> None:
        noise = self._random.standard_normal(2)
        loss = 2.3 * (1 + number / 1000) ** -0.5 * (1 + 0.05 * noise[0])  # keeps decreasing
        values = {
            "loss": loss,
            "learning_rate/0": 1e-3,
            "gradient_norm": 1.0 + 0.1 * noise[1],
        }
        for name, value in values.items():
            now_ns = self._clock.now_ns()
            self._writer.add(SCALARS, (name, now_ns, number, "train", float(value), "hook"))

    def _inspect(self, number: int) -> None:
        self._observe("kept-gradients", "0", number, 0.0, {"of": self._pace.parameters})
        rows = {"rows": 32, "classes": 10}
        self._observe("probabilities-as-logits", "cross_entropy", number, 0.0, rows)
        hits = {str(label): [3, 0] for label in range(10)}
        self._observe("class-hits", "predictions", number, 32.0, hits)

    def _observe(self, kind: str, subject: str, step: int, value: float, detail: object) -> None:
        text = detail if isinstance(detail, str) else json.dumps(detail)
        row = (kind, subject, self._clock.now_ns(), step, "train", value, text)
        self._writer.add(OBSERVATIONS, row)

    def _statistics(self, number: int) -> None:
        spread = 0.05 * np.exp(0.1 * self._random.standard_normal(len(self._names)))
        for name, value in zip(self._names, spread.tolist(), strict=True):
            self._writer.add(
                STATISTICS, (name, self._clock.now_ns(), number, "train", *_row(value))
            )

    def _write_index(self) -> None:
        collections = {"weight": ("weights",), "gradient": ("gradients",)}
        infos = tuple(
            TensorInfo(name, collections[name.partition("/")[0]], "float32", (64, 64), False, "")
            for name in self._names
        )
        key = layout.worker_key(0, 1, 0, "tensors")
        self._backend.write(key, encode_facts(TensorIndex(infos)))


def _row(spread: float) -> Sequence[object]:
    """Return statistics of 4,096 values around zero."""
    count, zeros = 4096, 0
    mean = count * spread * 0.8
    bounds = (-4 * spread, 4 * spread, spread / 4096)
    return (count, 0, 0, zeros, *bounds, 0.0, count * spread**2, mean, "")
