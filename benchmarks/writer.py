"""CPU time to write a sample of 120 metrics, compared with JSON lines."""

import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import Row
from benchmarks.synthetic import DAY_TICKS, Day, make_day
from sonde.clock import SystemClock
from sonde.store.backends import open_backend
from sonde.store.layout import node_folder
from sonde.store.writer import Writer

_TICKS_PER_FLUSH = 10  # 5 s at 500 ms
_TICKS = 2400
_ROUNDS = 7
_BAR_RATIO = 10.0

Tick = tuple[int, Sequence[float]]


def main() -> list[Row]:
    """Measure CPU time per sample and bytes per value, alternating."""
    day = make_day(ticks=DAY_TICKS // 4)
    busiest = slice(DAY_TICKS // 8, DAY_TICKS // 8 + _TICKS)  # in the middle of a training job
    times = day.times_ns[busiest].tolist()
    ticks = list(zip(times, day.values[:, busiest].T.tolist(), strict=True))
    rounds = [(_ours(day, ticks), _json_lines(day, ticks)) for _ in range(_ROUNDS)]
    ours = statistics.median(cost.microseconds for cost, _ in rounds)
    other = statistics.median(cost.microseconds for _, cost in rounds)
    live, lines = rounds[0][0].bytes_per_point, rounds[0][1].bytes_per_point
    name = "JSON lines"
    return [
        Row(
            "one sample of 120 metrics, flush every 5 s",
            ours,
            "µs CPU",
            bar=f"≤ 1/{_BAR_RATIO:g}",
            is_met=other >= _BAR_RATIO * ours,
            alternative=name,
            alternative_measured=other,
            note=f"all threads, medians of {_ROUNDS} × {_TICKS} samples, no fsync in either",
        ),
        Row("live bytes per point", live, "bytes", "", None, name, lines),
    ]


class _Clock(SystemClock):
    """A clock that advances by five seconds per flush, so that periodic work runs."""

    flushes = 0

    def seconds(self) -> float:
        """Return the simulated time."""
        return 5.0 * self.flushes


class _Cost:
    def __init__(self, seconds: float, size: int) -> None:
        self.microseconds = 1e6 * seconds / _TICKS
        self.bytes_per_point = size / _TICKS / 120


def _ours(day: Day, ticks: Sequence[Tick]) -> _Cost:
    with tempfile.TemporaryDirectory() as folder:
        clock = _Clock()
        writer = Writer(open_backend(folder), node_folder("node"), clock)
        writer.outbox.start()
        before = time.process_time()
        for number, (time_ns, values) in enumerate(ticks, 1):
            writer.add_sample(time_ns, day.series, values)
            if number % _TICKS_PER_FLUSH == 0:
                written = writer.outbox.bytes_written
                clock.flushes += 1
                writer.flush()
                while writer.outbox.bytes_written == written:  # each flush wakes the outbox
                    time.sleep(0.0005)
        writer.close(60.0)
        return _Cost(time.process_time() - before, _size(folder))


def _json_lines(day: Day, ticks: Sequence[Tick]) -> _Cost:
    """Write one line per metric, as the agent of SageMaker Debugger did."""
    names = [(series.metric.name, series.device or "node") for series in day.series]
    with tempfile.TemporaryDirectory() as folder:
        before = time.process_time()
        with Path(f"{folder}/metrics.json").open("w", encoding="utf-8") as file:
            for number, (time_ns, values) in enumerate(ticks, 1):
                seconds = time_ns / 1e9
                for (name, device), value in zip(names, values, strict=True):
                    line = {
                        "Name": device,
                        "Dimension": name,
                        "NodeId": "algo-1",
                        "Value": value,
                        "Timestamp": seconds,
                    }
                    file.write(json.dumps(line) + "\n")
                if number % _TICKS_PER_FLUSH == 0:
                    file.flush()
        return _Cost(time.process_time() - before, _size(folder))


def _size(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
