"""How soon a question about a day of 120 series is answered, beside DuckDB on the same files."""

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
_OTHER = "DuckDB, raw Parquet"
_BUCKETS = 1000
_ONE = ("cpu.utilization_percent", "cpu3")
_AGAIN = "job and files open; roll-up blocks stay decoded, raw samples are read anew each time"
_FIRST = (
    "facts, manifests and footers read and checked, then the answer; files in the system's cache"
)

Question = Callable[[SystemMetrics], object]


def main() -> list[Row]:
    """Three questions: repeated with an open reader, first after opening, and DuckDB's answer."""
    day = make_day()
    with tempfile.TemporaryDirectory() as folder:
        record(f"{folder}/day", day)
        return [
            *_one_series(folder),
            *_all_series(folder, day),
            *_percentiles(folder, day),
        ]


def _one_series(folder: str) -> list[Row]:
    def ask(metrics: SystemMetrics) -> object:
        return metrics.buckets(_BUCKETS)

    other = _duck(
        f"SELECT {_BUCKET} AS b, {_aggregates(['/'.join(_ONE)])} {_from(folder)} GROUP BY b"
    )
    return _rows("1,000 buckets, one series", folder, _ONE, ask, other, 5.0)


def _all_series(folder: str, day: Day) -> list[Row]:
    def ask(metrics: SystemMetrics) -> object:
        return metrics.buckets(_BUCKETS)

    names = [one.key for one in day.series]
    other = _duck(f"SELECT {_BUCKET} AS b, {_aggregates(names)} {_from(folder)} GROUP BY b")
    return _rows("1,000 buckets, all series", folder, ("*", None), ask, other, 20.0)


def _percentiles(folder: str, day: Day) -> list[Row]:
    def ask(metrics: SystemMetrics) -> object:
        return metrics.statistics()

    columns = ", ".join(
        f'quantile_cont("{one.key}", [0, 0.5, 0.9, 0.95, 0.99, 1])' for one in day.series
    )
    other = _duck(f"SELECT {columns} {_from(folder)}")
    return _rows("percentile table, all series", folder, ("*", None), ask, other, 400.0)


# DuckDB gets buckets of the same width that our answer has.
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
    """Milliseconds, the first one left out."""
    connection = duckdb.connect()
    return _median(lambda: connection.execute(query).fetchall())


def _rows(
    what: str,
    folder: str,
    wanted: tuple[str, str | None],
    ask: Question,
    other: float,
    bar_ms: float,
) -> list[Row]:
    metric, device = wanted
    job = Job(open_backend(f"{folder}/day"))
    again = _median(lambda: ask(job.system(metric, device=device, node=NODE)))

    def from_scratch() -> object:
        fresh = Job(open_backend(f"{folder}/day"))
        return ask(fresh.system(metric, device=device, node=NODE))

    first = _median(from_scratch)
    bar = f"≤ {bar_ms:g} ms, faster than DuckDB"
    is_met = again <= bar_ms and again < other
    return [
        Row(f"{what}: again", again, "ms", bar, is_met, _OTHER, other, _AGAIN),
        Row(f"{what}: job opened and asked", first, "ms", "", None, _OTHER, other, _FIRST),
    ]


def _median(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(_REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1000 * statistics.median(times)
