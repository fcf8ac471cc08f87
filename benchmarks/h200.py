"""Overhead of sampling all GPU metrics at 100 ms, next to an intermittent GPU load.

`PYTHONPATH=src python3 -m benchmarks.h200 FOLDER` writes h200.json and h200.svg to the folder.
Requires numpy, pyarrow, nvidia-ml-py and torch. Without a GPU, it prints a message and exits.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.picture import Curve, draw
from benchmarks.report import Row, describe_environment, table
from sonde.agent.sampler import Sampler, open_collectors
from sonde.agent.system import Collector, Machine
from sonde.clock import NANOSECONDS, SystemClock
from sonde.read.system import SystemReader
from sonde.store.backends import open_backend
from sonde.store.layout import node_folder
from sonde.store.rollups import Floats, Instants
from sonde.store.writer import Writer

_SECONDS = 60.0
_INTERVAL_SECONDS = 0.1
_FLUSH_SECONDS = 5.0
_BUSY_SECONDS, _IDLE_SECONDS = 10.0, 5.0
_NODE = "here"
_GPU_COLLECTORS = {"gpu_nvidia", "gpu_nvidia_links"}
# NVML's averages are up to a second old, so the edges of a phase are excluded.
_EDGE_SECONDS = 1.5

_LOAD = f"""
import time, torch
matrix = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
(matrix @ matrix).sum().item()
print("ready", flush=True)
while True:
    print(f"busy {{time.clock_gettime(time.CLOCK_BOOTTIME)}}", flush=True)
    end = time.monotonic() + {_BUSY_SECONDS}
    while time.monotonic() < end:
        for _ in range(20):
            product = matrix @ matrix
        torch.cuda.synchronize()
    print(f"idle {{time.clock_gettime(time.CLOCK_BOOTTIME)}}", flush=True)
    time.sleep({_IDLE_SECONDS})
"""


@dataclass(frozen=True)
class _Measured:
    cpu_percent: float
    tick_seconds: tuple[float, ...]
    read_seconds: dict[str, tuple[float, ...]]
    phases: tuple[tuple[str, float], ...]  # name and start on the monotonic clock


def main(folder: str) -> int:
    """Measure, compare the recorded utilization with the load, write results and chart."""
    try:
        collectors, missing = open_collectors(Machine())
    except ImportError as error:
        print(f"Cannot measure: {error}")
        return 0
    if not _GPU_COLLECTORS & collectors.keys():
        print(f"No NVIDIA GPU ({missing['gpu_nvidia'].reason}): nothing to measure")
        return 0
    for collector in collectors.values():
        collector.close()
    with tempfile.TemporaryDirectory() as store, _load() as load:
        collectors, _ = open_collectors(Machine(job_pid=load.pid, paths=(Path.cwd(),)))
        facts = describe_environment()
        try:
            measured = _measure(store, collectors, load)
        finally:
            load.kill()
        reader = SystemReader(open_backend(store), _NODE)
        rows = _rows(measured, reader)
        _write(Path(folder), rows, facts, measured, reader)
    print(table(rows))
    return int(any(row.is_met is False for row in rows))


def _load() -> "subprocess.Popen[str]":
    load = subprocess.Popen([sys.executable, "-u", "-c", _LOAD], stdout=subprocess.PIPE, text=True)
    assert load.stdout is not None
    if load.stdout.readline().strip() != "ready":
        raise SystemExit("The load did not start. Check that torch is installed with CUDA.")
    return load


def _measure(
    store: str, collectors: dict[str, Collector], load: "subprocess.Popen[str]"
) -> _Measured:
    clock = SystemClock(anchor_ns=0)
    writer = Writer(open_backend(store), node_folder(_NODE), clock)
    reads = {name: _time_reads(collector) for name, collector in collectors.items()}
    sampler = Sampler(collectors, writer, clock, _INTERVAL_SECONDS, budget_percent=100.0)
    ticks = _time_ticks(sampler)
    writer.outbox.start()
    sampler.start(_FLUSH_SECONDS)
    started, before = time.perf_counter(), time.process_time()
    time.sleep(_SECONDS)
    cpu, wall = time.process_time() - before, time.perf_counter() - started
    sampler.stop(_FLUSH_SECONDS)
    writer.close(_FLUSH_SECONDS)
    load.kill()
    assert load.stdout is not None
    lines = [line.split() for line in load.stdout.read().splitlines()]
    phases = tuple((words[0], float(words[1])) for words in lines if len(words) == 2)
    return _Measured(
        100 * cpu / wall,
        tuple(ticks),
        {name: tuple(durations) for name, durations in reads.items()},
        phases,
    )


def _time_reads(collector: Collector) -> list[float]:
    """Time the reads of a collector, including waiting."""
    durations: list[float] = []
    read = collector.read

    def timed(seconds: float) -> object:
        started = time.perf_counter()
        values = read(seconds)
        durations.append(time.perf_counter() - started)
        return values

    setattr(collector, "read", timed)  # noqa: B010 — replaces the method of one object
    return durations


def _time_ticks(sampler: Sampler) -> list[float]:
    durations: list[float] = []
    tick = sampler.tick

    def timed() -> None:
        started = time.perf_counter()
        tick()
        durations.append(time.perf_counter() - started)

    setattr(sampler, "tick", timed)  # noqa: B010 — replaces the method of one object
    return durations


def _rows(measured: _Measured, reader: SystemReader) -> list[Row]:
    busy, idle = _means_by_phase(measured, reader)
    extent = reader.extent
    assert extent is not None
    follows = busy >= 90 and idle <= 10
    rows = [
        Row(
            "all collectors, including all GPU metrics, at 100 ms",
            measured.cpu_percent,
            "% of one core",
            note=f"CPU time of all threads over {_SECONDS:g} s, {extent.rows} samples, "
            f"{len(reader.series())} series, including {len(reader.series('gpu.*'))} GPU series",
        ),
        Row("one sample, median", 1000 * statistics.median(measured.tick_seconds), "ms"),
        Row("one sample, maximum", 1000 * max(measured.tick_seconds), "ms"),
        Row("recorded utilization under load", busy, "%", "≥ 90%", follows),
        Row("recorded utilization while idle", idle, "%", "≤ 10%", follows),
    ]
    for name, durations in sorted(measured.read_seconds.items()):
        if durations:
            what = f"one read of {name}, median of {len(durations)}"
            rows.append(Row(what, 1e6 * statistics.median(durations), "µs"))
    return rows


def _curve(reader: SystemReader, metric: str) -> tuple[Instants, Floats]:
    series = reader.series(metric, "gpu0")
    times, values = reader.samples(series)
    return times, values[0] if len(values) else np.full(len(times), np.nan, dtype=np.float32)


def _means_by_phase(measured: _Measured, reader: SystemReader) -> tuple[float, float]:
    times, values = _curve(reader, "gpu.utilization_percent")
    seconds = times / NANOSECONDS
    means = []
    for phase, length in (("busy", _BUSY_SECONDS), ("idle", _IDLE_SECONDS)):
        inside = np.zeros(len(seconds), dtype=np.bool_)
        for name, began in measured.phases:
            if name == phase:
                inside |= (seconds > began + _EDGE_SECONDS) & (seconds < began + length - 0.1)
        means.append(float(np.nanmean(values[inside])))
    return means[0], means[1]


def _write(
    folder: Path,
    rows: list[Row],
    facts: dict[str, object],
    measured: _Measured,
    reader: SystemReader,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    document = {"benchmark": "h200", **facts, "rows": [asdict(row) for row in rows]}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / "h200.json").write_text(text + "\n", encoding="utf-8")
    times, _ = _curve(reader, "gpu.utilization_percent")
    begin = float(times[0]) / NANOSECONDS
    curves = []
    for title, unit, metric in (
        ("GPU utilization", "%", "gpu.utilization_percent"),
        ("power", "W", "gpu.power_watts"),
        ("temperature", "°C", "gpu.temperature_celsius"),
        ("memory in use", "GB", "gpu.memory_used_bytes"),
    ):
        times, values = _curve(reader, metric)
        scale = 1e9 if unit == "GB" else 1.0
        curves.append(Curve(title, unit, times / NANOSECONDS - begin, values / scale))
    busy = [
        (at - begin, at - begin + _BUSY_SECONDS) for what, at in measured.phases if what == "busy"
    ]
    picture = draw("Recorded at 100 ms; shaded: under load", curves, busy, _SECONDS)
    (folder / "h200.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 -m benchmarks.h200 FOLDER")
    sys.exit(main(sys.argv[1]))
