"""Time to read one series of a day as a data frame, compared with pandas on the same values."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.recorded import NODE, record
from benchmarks.report import Row
from benchmarks.synthetic import Day, make_day
from sonde.client.job import Job
from sonde.store.backends import open_backend

_REPEATS = 9
_METRIC, _DEVICE = "cpu.utilization_percent", "cpu3"
_KEY = f"{_METRIC}/{_DEVICE}"
_BAR_MS = 10.0
_WHAT = "one series of a day as a data frame"
_FIRST = "includes reading and checking metadata, manifests and footers; files in the page cache"
_CSV = "pandas, read_csv of one column of a table of all series"
_PARQUET = "pandas, read_parquet of one column of one file"


def main() -> list[Row]:
    """Read one of 120 series, all samples of a day."""
    day = make_day()
    with tempfile.TemporaryDirectory() as folder:
        record(f"{folder}/day", day)
        paths = _write_alternatives(Path(folder), day)
        job = Job(open_backend(f"{folder}/day"))

        def query(opened: Job) -> pd.DataFrame:
            return opened.system(_METRIC, device=_DEVICE, node=NODE).to_pandas()

        rows = len(query(job))
        repeated = _median(lambda: query(job))
        first = _median(lambda: query(Job(open_backend(f"{folder}/day"))))
        csv = _median(lambda: pd.read_csv(paths[0], usecols=["time", _KEY]), repeats=3)
        parquet = _median(lambda: pd.read_parquet(paths[1], columns=["time", _KEY]))
    note = f"{rows:,} samples of one of 120 series; job and files open"
    bar = f"≤ {_BAR_MS:g} ms"
    return [
        Row(
            f"{_WHAT}: repeated read",
            repeated,
            "ms",
            bar,
            repeated <= _BAR_MS,
            _PARQUET,
            parquet,
            note,
        ),
        Row(f"{_WHAT}: compared with CSV", repeated, "ms", "", None, _CSV, csv),
        Row(
            f"{_WHAT}: including opening the job", first, "ms", "", None, _PARQUET, parquet, _FIRST
        ),
    ]


def _write_alternatives(folder: Path, day: Day) -> tuple[Path, Path]:
    """Write the day as a CSV file, and as a Parquet file like pandas does."""
    columns = {"time": pa.array(day.times_ns)}
    columns |= {
        series.key: pa.array(row) for series, row in zip(day.series, day.values, strict=True)
    }
    table = pa.table(columns)
    csv, parquet = folder / "day.csv", folder / "day.parquet"
    pyarrow.csv.write_csv(table, csv)
    pyarrow.parquet.write_table(table, parquet)
    return csv, parquet


def _median(work: Callable[[], object], repeats: int = _REPEATS) -> float:
    """Return the median time in milliseconds, without the first run."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1000 * statistics.median(times)
