"""A recording of an H200 as a job: its samples and evenly spaced training steps."""

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from tests.fakes.job import FakeJob, series_of

RECORDING = Path(__file__).parent.parent / "golden/h200/nvml_h200_100ms.json.gz"
TRAINING = ("loop", "profile", "starved", "loop2")
_COLUMNS: dict[str, Callable[[dict[str, Any]], float]] = {
    "gpu.utilization_percent/gpu0": lambda row: row["gpu"],
    "gpu.memory_used_percent/gpu0": lambda row: 100 * row["used"] / row["total"],
    "gpu.power_watts/gpu0": lambda row: row["power_mw"] / 1000,
    "gpu.temperature_celsius/gpu0": lambda row: row["temp"],
    "gpu.sm_clock_mhz/gpu0": lambda row: row["sm_mhz"],
}


def h200_job(*sections: str, uri: str = "") -> FakeJob:
    """Return the recorded job, or some consecutive sections of it."""
    rows, starts, steps = _recording()
    names = list(starts)
    chosen = sections or tuple(names[:-1])
    end = starts[names[names.index(chosen[-1]) + 1]]
    job = FakeJob(uri)
    shift = job.clock.now_ns() / NANOSECONDS - starts[chosen[0]]
    worker = job.worker(device="cuda:0")
    number = 0
    for name in (section for section in chosen if section in TRAINING):
        until = starts[names[names.index(name) + 1]]
        seconds = (until - starts[name]) / steps[name]
        for index in range(steps[name]):
            begin = starts[name] + index * seconds
            job.clock._now_ns = round((begin + shift) * NANOSECONDS)
            worker.step(number, {"forward": seconds})
            number += 1
    worker.flush()
    series = (*map(series_of, _COLUMNS), series_of("cpu.utilization_percent"))
    for row, busy in zip(rows[1:], _busy(rows), strict=True):
        if starts[chosen[0]] <= row["t"] < end:
            values = [float(read(row)) for read in _COLUMNS.values()]
            time_ns = round((row["t"] + shift) * NANOSECONDS)
            job.writer.add_sample(time_ns, series, [*values, busy])
    job.clock._now_ns = round((end + shift) * NANOSECONDS)
    return job.end()


@cache
def _recording() -> tuple[list[dict[str, Any]], dict[str, float], dict[str, int]]:
    with gzip.open(RECORDING, "rt", encoding="utf-8") as file:
        recording = json.load(file)
    return (
        recording["rows"],
        dict(recording["marks"]),
        dict(zip(TRAINING, recording["steps"], strict=True)),
    )


def _busy(rows: list[dict[str, Any]]) -> list[float]:
    """Return the CPU utilization of the node since the previous row."""
    ticks = np.array([row["cpu"][0].split()[1:9] for row in rows], dtype=np.float64)
    total = np.diff(ticks.sum(axis=1))
    idle = np.diff(ticks[:, 3] + ticks[:, 4])
    busy: list[float] = (100 * (1 - idle / np.maximum(total, 1))).tolist()
    return busy
