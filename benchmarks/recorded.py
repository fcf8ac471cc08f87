"""Jobs from given values, written and sealed like those of `sonde run`."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.synthetic import Day
from sonde.clock import SystemClock
from sonde.records.job import Attempt, Exit, ExitReason, JobInfo, JobState, Launcher
from sonde.records.metric import MetricInfo, Series
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.facts import encode_facts
from sonde.store.format import SYSTEM
from sonde.store.seal import FamilyFolder, seal_folder
from sonde.store.writer import Writer

NODE = "node-0"
H200 = Path(__file__).parent.parent / "tests/golden/h200/nvml_h200_100ms.json.gz"
_TICKS_PER_FLUSH = 10
_TICKS_AT_ONCE = 1200
_CLOSE_SECONDS = 60.0


def record(uri: str, day: Day) -> Backend:
    """Write a finished job with sealed and merged segments."""
    backend = open_backend(uri)
    _write_facts(backend, day)
    writer = Writer(backend, layout.node_folder(NODE), SystemClock())
    for first in range(0, len(day.times_ns), _TICKS_AT_ONCE):
        times = day.times_ns[first : first + _TICKS_AT_ONCE].tolist()
        ticks = day.values[:, first : first + _TICKS_AT_ONCE].T.tolist()
        for number, (time_ns, values) in enumerate(zip(times, ticks, strict=True)):
            writer.add_sample(time_ns, day.series, values)
            if number % _TICKS_PER_FLUSH == _TICKS_PER_FLUSH - 1:
                writer.flush()
        writer.outbox.write_waiting()
    writer.close(_CLOSE_SECONDS)
    seal_folder(FamilyFolder(backend, layout.node_folder(NODE), SYSTEM), is_over=True)
    return backend


def _write_facts(backend: Backend, day: Day) -> None:
    start_ns, end_ns = int(day.times_ns[0]), int(day.times_ns[-1])
    attempt = Attempt(NODE, 1, start_ns, ("train",), "/", 1, Launcher(1, "", ""), 0.5)
    ending = Exit(JobState.COMPLETED, ExitReason.EXIT, end_ns, 0)
    backend.write(layout.JOB, encode_facts(JobInfo("day", start_ns, NODE)))
    backend.write(layout.attempt_key(NODE, 1, "start"), encode_facts(attempt))
    backend.write(layout.attempt_key(NODE, 1, "exit"), encode_facts(ending))


def h200_recording() -> Day:
    """Return the recording in tests/golden as series of the GPU and of each core."""
    with gzip.open(H200, "rt", encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    columns: dict[tuple[str, str], Sequence[float]] = {
        (f"gpu.{name}", "gpu0"): [row[key] / per for row in rows]
        for name, key, per in (
            ("utilization_percent", "gpu", 1),
            ("memory_controller_percent", "gpumem", 1),
            ("memory_used_bytes", "used", 1),
            ("memory_total_bytes", "total", 1),
            ("power_watts", "power_mw", 1000),
            ("temperature_celsius", "temp", 1),
            ("sm_clock_mhz", "sm_mhz", 1),
            ("pcie_transmit_bytes_per_second", "pcie_tx", 1 / 1024),
        )
    }
    columns |= _cores([row["cpu"] for row in rows])
    series = tuple(Series(MetricInfo(name, "", ""), device) for name, device in columns)
    times = np.array([round(row["t"] * 1e9) for row in rows], dtype=np.int64)
    return Day(times, series, np.array(list(columns.values()), dtype=np.float32))


def _cores(stats: Sequence[Sequence[str]]) -> dict[tuple[str, str], Sequence[float]]:
    """Return the utilization since the previous row, as the collector computes it."""
    names = [line.split()[0] for line in stats[0]]
    ticks = np.array([[line.split()[1:9] for line in lines] for lines in stats], dtype=np.float64)
    idle = np.diff(ticks[:, :, 3] + ticks[:, :, 4], axis=0)
    total = np.diff(ticks.sum(axis=2), axis=0)
    unknown = np.full((1, len(names)), np.nan)
    with np.errstate(invalid="ignore"):
        percent = np.concatenate([unknown, 100 * (total - idle) / total])
    return {
        ("cpu.utilization_percent", "" if name == "cpu" else name): percent[:, column].tolist()
        for column, name in enumerate(names)
    }
