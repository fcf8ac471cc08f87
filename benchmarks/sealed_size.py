"""Sealed bytes per point: a synthetic day, and a real GPU recording."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.recorded import h200_recording, record
from benchmarks.report import Row
from benchmarks.synthetic import Day, make_day
from sonde.store.layout import LIVE_SUFFIX, ROLLUP_SUFFIX, SEALED_SUFFIX

_BAR = 0.9


def main() -> list[Row]:
    """Measure raw Parquet, roll-ups and all files of the job."""
    return [
        *_measure("24 h × 120 series at 500 ms", make_day()),
        *_measure("H200 recording, 87 s at 120 ms", h200_recording()),
    ]


def _measure(what: str, day: Day) -> list[Row]:
    points = day.values.size
    with tempfile.TemporaryDirectory() as folder:
        record(f"{folder}/day", day)
        raw = _bytes(folder, lambda name: name.endswith(SEALED_SUFFIX) and not _is_rollup(name))
        rollups = _bytes(folder, _is_rollup)
        everything = _bytes(folder, lambda _name: True)
        assert not _bytes(folder, lambda name: name.endswith(LIVE_SUFFIX))
    return [
        Row(
            f"{what}: raw",
            raw / points,
            "bytes/point",
            bar=f"≤ {_BAR} bytes/point",
            is_met=raw / points <= _BAR,
            note=f"{points:,} points, {raw:,} bytes",
        ),
        Row(f"{what}: with roll-ups", (raw + rollups) / points, "bytes/point"),
        Row(f"{what}: all files of the job", everything / points, "bytes/point"),
    ]


def _is_rollup(name: str) -> bool:
    return name.endswith(ROLLUP_SUFFIX)


def _bytes(folder: str, is_counted: Callable[[str], bool]) -> int:
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files if is_counted(path.name))
