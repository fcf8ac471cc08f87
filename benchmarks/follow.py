"""Delay between a flush of a job and a reader in another process."""

import os
import random
import subprocess
import sys
import tempfile
import time

from benchmarks.report import Row
from sonde.clock import NANOSECONDS, SystemClock
from sonde.read.new_samples import NewSampleReader
from sonde.records.metric import MetricInfo, Series
from sonde.store.backends import open_backend
from sonde.store.layout import node_folder
from sonde.store.writer import Writer

_FLUSHES = 40
_NODE = "node-0"
_BAR_SECONDS = 1.0
_PATIENCE_SECONDS = 60.0
_ANCHOR_NS = 0  # both processes read the same monotonic clock


def main() -> list[Row]:
    """Follow a writing process, polling as often as readers poll a folder."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "benchmarks.follow", folder]
        with subprocess.Popen(words) as writer:
            delays = _follow(folder)
            writer.wait()
    delays.sort()
    return [
        Row(
            "delay from flush to reader, maximum",
            delays[-1],
            "s",
            bar=f"≤ {_BAR_SECONDS:g} s",
            is_met=delays[-1] <= _BAR_SECONDS and len(delays) == _FLUSHES,
            note=f"{len(delays)} flushes at random times, read by another process from a folder",
        ),
        Row("delay from flush to reader, median", delays[len(delays) // 2], "s"),
    ]


def _follow(folder: str) -> list[float]:
    backend = open_backend(folder)
    clock = SystemClock(_ANCHOR_NS)
    follower = NewSampleReader(backend, _NODE)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    delays: list[float] = []
    while len(delays) < _FLUSHES and time.monotonic() < deadline:
        for batch in follower.poll():
            now_ns = clock.now_ns()
            delays += [(now_ns - int(time_ns)) / NANOSECONDS for time_ns in batch.times_ns]
        time.sleep(backend.poll_seconds)
    return delays


def _write(folder: str) -> None:
    """Write samples whose timestamp is the time of their flush."""
    clock = SystemClock(_ANCHOR_NS)
    series = tuple(Series(MetricInfo(f"metric_{number}", "", "")) for number in range(120))
    writer = Writer(open_backend(folder), node_folder(_NODE), clock)
    writer.outbox.start()
    generator = random.Random(os.getpid())
    for _ in range(_FLUSHES):
        time.sleep(generator.uniform(0.2, 0.8))
        writer.add_sample(clock.now_ns(), series, [generator.random() for _ in series])
        writer.flush()
    writer.close(_PATIENCE_SECONDS)


if __name__ == "__main__":
    _write(sys.argv[1])
