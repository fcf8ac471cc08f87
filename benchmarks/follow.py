"""How soon a reader in another process sees what a job has flushed."""

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
    """Follows a process that writes, as often as readers look at a folder."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "benchmarks.follow", folder]
        with subprocess.Popen(words) as writer:
            delays = _follow(folder)
            writer.wait()
    delays.sort()
    return [
        Row(
            "from a flush to a reader, longest",
            delays[-1],
            "s",
            bar=f"≤ {_BAR_SECONDS:g} s",
            is_met=delays[-1] <= _BAR_SECONDS and len(delays) == _FLUSHES,
            note=f"{len(delays)} flushes at random moments, another process, a folder",
        ),
        Row("from a flush to a reader, median", delays[len(delays) // 2], "s"),
    ]


def _follow(folder: str) -> list[float]:
    backend = open_backend(folder)
    clock = SystemClock(_ANCHOR_NS)
    follower = NewSampleReader(backend, _NODE)
    give_up = time.monotonic() + _PATIENCE_SECONDS
    delays: list[float] = []
    while len(delays) < _FLUSHES and time.monotonic() < give_up:
        for news in follower.poll():
            now_ns = clock.now_ns()
            delays += [(now_ns - int(time_ns)) / NANOSECONDS for time_ns in news.times_ns]
        time.sleep(backend.poll_seconds)
    return delays


def _write(folder: str) -> None:
    """Samples that say when they were flushed: that moment is their time."""
    clock = SystemClock(_ANCHOR_NS)
    series = tuple(Series(MetricInfo(f"metric_{number}", "", "")) for number in range(120))
    writer = Writer(open_backend(folder), node_folder(_NODE), clock)
    writer.outbox.start()
    moments = random.Random(os.getpid())
    for _ in range(_FLUSHES):
        time.sleep(moments.uniform(0.2, 0.8))
        writer.add_sample(clock.now_ns(), series, [moments.random() for _ in series])
        writer.flush()
    writer.close(_PATIENCE_SECONDS)


if __name__ == "__main__":
    _write(sys.argv[1])
