"""System metrics of the SageMaker profiler: one JSON object per sample, one file per minute."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.clock import NANOSECONDS
from sonde.importers._damages import Damages, read_bytes
from sonde.importers._importer import Intake
from sonde.importers._rows import NodeRows
from sonde.importers._sources import node_name
from sonde.records.metric import MetricInfo, Series

_FILE = re.compile(r".*system/(?:.+/)?\d{10}\.(?P<node>[^/]+)\.json")
_CPU = MetricInfo("cpu.utilization_percent", "percent", "CPU utilization")
_IO_WAIT = MetricInfo("cpu.iowait_percent", "percent", "idle time with outstanding disk requests")
# what a sample measures (type, dimension, name) and the metric of the same meaning
_METRICS = (
    (r"cpu CPUUtilization .*", _CPU),
    (r"\S+ I/?O_?Wait.*", _IO_WAIT),
    (
        r"gpu GPUUtilization .*",
        MetricInfo("gpu.utilization_percent", "percent", "share of time with a running kernel"),
    ),
    (
        r"gpu GPUMemoryUtilization .*",
        MetricInfo("gpu.memory_used_percent", "percent", "memory used, as a share of the total"),
    ),
    (
        r".*MemoryUsedPercent.*",
        MetricInfo("memory.used_percent", "percent", "used memory, as a share of the total"),
    ),
)
_PATTERNS = tuple((re.compile(text, re.IGNORECASE), metric) for text, metric in _METRICS)
_PER_CORE = (_CPU.name, _IO_WAIT.name)  # with a mean over the cores for the node
_SAME_TICK_NS = 50_000_000  # samples of one poll are closer together
_NEVER_SECONDS = 4e9  # the year 2096
_DEVICE = re.compile(r"[a-z]+\d+")
_NO_LETTERS = re.compile(r"[^a-z0-9]+")
_CAPITALS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

Tick = tuple[int, dict[Series, float]]


@dataclass(frozen=True, slots=True)
class MetricFile:
    """The samples of one node and minute."""

    path: Path
    node: str

    @classmethod
    def of(cls, path: Path) -> "MetricFile | None":
        """Parse a path; None if it is another file."""
        match = _FILE.fullmatch(path.as_posix())
        return None if match is None else cls(path, node_name(match["node"]))


class MetricFiles:
    """Reads the samples of one node, in order of the files' names."""

    def __init__(self, rows: NodeRows, intake: Intake) -> None:
        self._rows = rows
        self._intake = intake
        self._series: dict[str, Series] = {}  # by what a sample measures
        self._columns: dict[frozenset[Series], tuple[Series, ...]] = {}

    def read(self, file: MetricFile, damages: Damages) -> None:
        """Read one file, as far as possible."""
        lines = read_bytes(file.path, self._intake.advance).splitlines()
        samples = []
        unreadable = 0
        for line in lines:
            try:
                samples.append(self._sample(json.loads(line)))
            except (ValueError, KeyError, TypeError, RecursionError):
                unreadable += bool(line.strip())
        if unreadable:
            damages.add("metrics file", file.path, f"has unreadable lines: {unreadable}")
        samples.sort(key=lambda sample: sample[0])
        self._write([_with_means(tick) for tick in _ticks(samples)])

    def _sample(self, entry: Mapping[str, Any]) -> tuple[int, Series, float]:
        seconds, value = float(entry["Timestamp"]), float(entry["Value"])
        if not 0 < seconds < _NEVER_SECONDS:
            raise ValueError("impossible time")
        name, device = (str(entry.get(key) or "") for key in ("Dimension", "Name"))
        text = f"{entry.get('Type') or 'system'} {name} {device}"
        if text not in self._series:
            self._series[text] = _series_of(text, device)
        return round(seconds * NANOSECONDS), self._series[text], value

    def _write(self, ticks: Sequence[Tick]) -> None:
        """Write the ticks of a file with the same series for all."""
        used = frozenset(series for _, values in ticks for series in values)
        if not used:
            return
        ordered = tuple(sorted(used, key=lambda series: series.key))
        columns = self._columns.setdefault(used, ordered)
        rows = (
            (time_ns, [tick.get(each, math.nan) for each in columns]) for time_ns, tick in ticks
        )
        self._rows.add_samples(columns, rows)


def _series_of(text: str, device: str) -> Series:
    """The series of a sample; a metric of the recording if Sonde has none like it."""
    device_or_node = device if _DEVICE.fullmatch(device) else ""
    for pattern, metric in _PATTERNS:
        if pattern.fullmatch(text):
            return Series(metric, device_or_node)
    kind, _, rest = text.partition(" ")
    measured = _NO_LETTERS.sub("_", _CAPITALS.sub("_", rest).lower()).strip("_")
    if device_or_node:
        measured = measured.removesuffix(f"_{device_or_node}")
    name = _NO_LETTERS.sub("_", kind.lower()).strip("_") or "system"
    return Series(
        MetricInfo(f"smdebug.{name}_{measured}", "", f"{rest.strip()} of {kind}"), device_or_node
    )


def _ticks(samples: Sequence[tuple[int, Series, float]]) -> Iterator[Tick]:
    """Group the samples of one poll; a series occurs once per tick."""
    start_ns, tick = 0, dict[Series, float]()
    for time_ns, series, value in samples:
        if tick and (series in tick or time_ns - start_ns > _SAME_TICK_NS):
            yield start_ns, tick
            tick = {}
        start_ns = start_ns if tick else time_ns
        tick[series] = value
    if tick:
        yield start_ns, tick


def _with_means(tick: Tick) -> Tick:
    """Add the mean over the cores, which the recording lacks."""
    time_ns, values = tick
    cores: dict[Series, list[float]] = {}
    for series in values:
        if series.metric.name in _PER_CORE and series.device:
            cores.setdefault(Series(series.metric), []).append(values[series])
    means = {node: math.fsum(each) / len(each) for node, each in cores.items()}
    return time_ns, {**means, **values}
