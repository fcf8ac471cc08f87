"""Time of queries on a day of 120 series, compared with DuckDB on the same files."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from benchmarks.recorded import NODE, record
from benchmarks.report import Row
from benchmarks.synthetic import Day, make_day
from sonde.client.job import Job
from sonde.results.system import SystemMetrics
from sonde.store.backends import open_backend
from sonde.store.layout import ROLLUP_SUFFIX, SEALED_SUFFIX

_REPEATS = 9
_ALTERNATIVE = "DuckDB, raw Parquet"
_BUCKETS = 1000
_ONE_SERIES = ("cpu.utilization_percent", "cpu3")
_REPEATED_NOTE = (
    "job and files open; decoded roll-up blocks are cached, raw samples are read every time"
)
_FIRST_NOTE = (
    "includes reading and checking metadata, manifests and footers; files in the page cache"
)

Query = Callable[[SystemMetrics], object]


def main() -> list[Row]:
    """Run three queries: repeated, including opening the job, and with DuckDB."""
    day = make_day()
    with tempfile.TemporaryDirectory() as folder:
        record(f"{folder}/day", day)
        return [
            *_one_series(folder),
            *_all_series(folder, day),
            *_percentiles(folder, day),
        ]


def _one_series(folder: str) -> list[Row]:
    def query(metrics: SystemMetrics) -> object:
        return metrics.buckets(_BUCKETS)

    duckdb_ms = _duck(
        f"SELECT {_BUCKET} AS b, {_aggregates(['/'.join(_ONE_SERIES)])} {_from(folder)} GROUP BY b"
    )
    return _rows("1,000 buckets, one series", folder, _ONE_SERIES, query, duckdb_ms, 5.0)


def _all_series(folder: str, day: Day) -> list[Row]:
    def query(metrics: SystemMetrics) -> object:
        return metrics.buckets(_BUCKETS)

    names = [series.key for series in day.series]
    duckdb_ms = _duck(f"SELECT {_BUCKET} AS b, {_aggregates(names)} {_from(folder)} GROUP BY b")
    return _rows("1,000 buckets, all series", folder, ("*", None), query, duckdb_ms, 20.0)


def _percentiles(folder: str, day: Day) -> list[Row]:
    def query(metrics: SystemMetrics) -> object:
        return metrics.statistics()

    columns = ", ".join(
        f'quantile_cont("{series.key}", [0, 0.5, 0.9, 0.95, 0.99, 1])' for series in day.series
    )
    duckdb_ms = _duck(f"SELECT {columns} {_from(folder)}")
    return _rows("percentile table, all series", folder, ("*", None), query, duckdb_ms, 400.0)


# DuckDB uses buckets of the same width.
_BUCKET = "time_ns // 120000000000"


def _aggregates(names: list[str]) -> str:
    return ", ".join(f'min("{name}"), avg("{name}"), max("{name}")' for name in names)


def _from(folder: str) -> str:
    raw = sorted(
        str(path)
        for path in Path(folder).rglob(f"*{SEALED_SUFFIX}")
        if not path.name.endswith(ROLLUP_SUFFIX)
    )
    return f"FROM read_parquet({raw})"


def _duck(query: str) -> float:
    """Return the median in milliseconds, without the first run."""
    connection = duckdb.connect()
    return _median(lambda: connection.execute(query).fetchall())


def _rows(
    what: str,
    folder: str,
    series: tuple[str, str | None],
    query: Query,
    duckdb_ms: float,
    bar_ms: float,
) -> list[Row]:
    metric, device = series
    job = Job(open_backend(f"{folder}/day"))
    repeated = _median(lambda: query(job.system(metric, device=device, node=NODE)))

    def from_scratch() -> object:
        fresh = Job(open_backend(f"{folder}/day"))
        return query(fresh.system(metric, device=device, node=NODE))

    first = _median(from_scratch)
    bar = f"≤ {bar_ms:g} ms, faster than DuckDB"
    is_met = repeated <= bar_ms and repeated < duckdb_ms
    duckdb = (_ALTERNATIVE, duckdb_ms)
    return [
        Row(f"{what}: repeated query", repeated, "ms", bar, is_met, *duckdb, _REPEATED_NOTE),
        Row(f"{what}: including opening the job", first, "ms", "", None, *duckdb, _FIRST_NOTE),
    ]


def _median(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(_REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1000 * statistics.median(times)
