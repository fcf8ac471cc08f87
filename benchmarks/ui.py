"""Time until the dashboard is drawn, compared with other tools on the same series.

A day of 120 series, 1,000 nodes, an hour of live updates, and 10 series of 100,000 points.
SONDE_BENCHMARK_QUICK=1 uses smaller stores, as a quick functional test.
"""

import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page

from benchmarks import ui_mlflow, ui_tensorboard
from benchmarks.other_tools import install
from benchmarks.report import Row
from benchmarks.ui_browser import browser, dashboard, fresh, opening_ms, zooming_ms
from benchmarks.ui_live import SECONDS_BEFORE, live_page, send_updates, size_of
from sonde.clock import NANOSECONDS
from sonde.records.metric import MetricInfo, Series
from tests.fakes.stores import START_NS, Shape, fleet, long_job, seal_samples, write_job

_IS_QUICK = bool(os.environ.get("SONDE_BENCHMARK_QUICK"))
_HOURS, _NODES, _POINTS, _NEWS = (1.0, 64, 2000, 60) if _IS_QUICK else (24.0, 1000, 100_000, 3600)
_OPENINGS, _SERIES = (2 if _IS_QUICK else 5), 10
_ZOOMS = ("+", "+", "+", "ArrowRight", "+", "-", "ArrowLeft", "+", "0")
_NODE_VIEWS = ["cpu", "network", "gpu", "system", "heatmap", "phases"]
_HIGH = 3000  # all charts of a page are visible
_TENSORBOARD_DRAWS = (
    "both have loaded their files; TensorBoard draws 1,000 points per series by default"
)
_MLFLOW_DRAWS = "MLflow draws 320 points per series, from SQLite, with two server processes"


def main() -> list[Row]:
    """Measure everything, each page in a browser with empty caches."""
    with tempfile.TemporaryDirectory() as folder, browser() as opened:
        long_job(folder, _HOURS, "day")
        fleet(folder, _NODES, "fleet")
        values = _ten_series(folder)
        with dashboard(folder) as address:
            rows = [
                *_day(opened, address),
                *_fleet(opened, address),
                *_hour(opened, address),
            ]
            ours = _opened(opened, f"{address}#/jobs/ten/nodes?more={_names()}", _series_charts())
        return [*rows, *_alternatives(opened, Path(folder), values, ours)]


def _day(opened: Browser, address: str) -> list[Row]:
    page = f"{address}#/jobs/day/nodes"
    useful = _opened(opened, page, ["cpu", "network"])
    all_views = _opened(opened, page, _NODE_VIEWS)
    zooms, first = _zoomed(opened, page, _NODE_VIEWS)
    what = f"Nodes page, {_HOURS:g} h × 120 series"
    return [
        _row(f"{what}: first useful paint", useful, 1500, "server warm, browser cold"),
        Row(f"{what}: all views drawn", statistics.median(all_views), "ms"),
        _row(f"{what}: zoom of all views", zooms, 100, f"first response after {first:.0f} ms"),
    ]


def _fleet(opened: Browser, address: str) -> list[Row]:
    page = f"{address}#/jobs/fleet/nodes"
    first = _opened(opened, page, ["fleet"])
    zooms, _ = _zoomed(opened, page, ["fleet"])
    what = f"heatmap of {_NODES:,} nodes"
    return [
        Row(f"{what}: page loaded and drawn", statistics.median(first), "ms"),
        _row(f"{what}: zoom", zooms, 150),
    ]


def _hour(opened: Browser, address: str) -> list[Row]:
    context, page = fresh(opened, _HIGH)
    session = context.new_cdp_session(page)
    session.send("Performance.enable")
    document = live_page(page, address, "day", ["cpu", "heatmap"])
    warm = _NEWS // 10
    send_updates(page, document, SECONDS_BEFORE, warm)
    before = size_of(session)
    send_updates(page, document, SECONDS_BEFORE + warm, _NEWS - warm)
    after = size_of(session)
    context.close()
    grown, nodes = after.heap_mb - before.heap_mb, after.nodes - before.nodes
    what = f"{_NEWS:,} s of live updates"
    note = f"{before.heap_mb:.1f} MB after a tenth of the time, {after.heap_mb:.1f} MB at the end"
    return [
        Row(f"{what}: heap growth", grown, "MB", "≤ 1 MB", grown <= 1.0, note=note),
        Row(
            f"{what}: DOM growth",
            nodes,
            "nodes",
            "≤ 50 nodes",
            nodes <= 50,
            note=f"{after.nodes:,} at the end; listeners {after.listeners - before.listeners:+d}",
        ),
    ]


def _alternatives(opened: Browser, folder: Path, values: Path, ours: list[float]) -> list[Row]:
    """Measure the other tools one after another, so that only one runs at a time."""
    boards = install(folder / "tensorboard", *ui_tensorboard.REQUIREMENTS)
    with ui_tensorboard.tensorboard(boards, folder, values) as address:
        board = _opened_elsewhere(opened, address, ui_tensorboard.opening_ms)
    runs = install(folder / "mlflow", *ui_mlflow.REQUIREMENTS)
    with ui_mlflow.mlflow(runs, folder, values) as address:
        run = _opened_elsewhere(opened, address, ui_mlflow.opening_ms)
    us = statistics.median(ours)
    what = f"{_SERIES} series × {_POINTS:,} points: page loaded, all charts drawn"
    every = "Sonde draws minimum, mean and maximum of all points per pixel"
    return [
        Row(what, us, "ms", "faster", us < alternative_ms, name, alternative_ms, f"{note}, {every}")
        for name, alternative_ms, note in (
            (f"TensorBoard {ui_tensorboard.VERSION}", board, _TENSORBOARD_DRAWS),
            (f"MLflow {ui_mlflow.VERSION}", run, _MLFLOW_DRAWS),
        )
    ]


def _opened_elsewhere(
    opened: Browser, address: str, opening: Callable[[Page, str, int], float]
) -> float:
    durations = []
    for _ in range(_OPENINGS):
        context, page = fresh(opened, _HIGH)
        durations.append(opening(page, address, _SERIES))
        context.close()
    return statistics.median(durations)


def _opened(opened: Browser, address: str, charts: list[str]) -> list[float]:
    durations = []
    for _ in range(_OPENINGS):
        context, page = fresh(opened, _HIGH)
        durations.append(opening_ms(page, address, charts))
        context.close()
    return durations


def _zoomed(opened: Browser, address: str, charts: list[str]) -> tuple[list[float], float]:
    """Return the duration of each zoom, and the median time of the first response."""
    context, page = fresh(opened, _HIGH)
    opening_ms(page, address, charts)
    zooming_ms(page, charts, "+")
    durations = [zooming_ms(page, charts, key) for key in _ZOOMS]
    context.close()
    return [complete for complete, _ in durations], statistics.median(
        first for _, first in durations
    )


def _row(what: str, durations: list[float], limit: float, note: str = "") -> Row:
    median = statistics.median(durations)
    worst = f"slowest of {len(durations)}: {max(durations):.0f} ms"
    return Row(
        what, median, "ms", f"≤ {limit:g} ms", median <= limit, note=f"{worst}{note and '; '}{note}"
    )


def _series_charts() -> list[str]:
    return [f"metric:own.series_{number}" for number in range(_SERIES)]


def _names() -> str:
    return ",".join(f"own.series_{number}" for number in range(_SERIES))


def _ten_series(folder: str) -> Path:
    """Write a job with ten metrics, and the same values as a file for other tools."""
    random = np.random.default_rng(0)
    values = np.cumsum(random.normal(0, 1, (_SERIES, _POINTS)), axis=1) + 500
    shape = Shape(seconds=_POINTS / 2, every_seconds=0.5, workers=0)
    backend = write_job(folder, "ten", shape)
    times_ns = START_NS + np.arange(_POINTS, dtype=np.int64) * (NANOSECONDS // 2)
    columns = {
        Series(MetricInfo(f"own.series_{number}", "", "a walk"), ""): row
        for number, row in enumerate(values)
    }
    seal_samples(backend, "node-0000", columns, times_ns)
    path = Path(folder, "values.npy")
    np.save(path, values.astype(np.float32))
    return path


if __name__ == "__main__":
    for row in main():
        print(" | ".join(row.cells()), row.note)
