"""How soon one series of a day is a data frame, beside pandas on the same numbers in files."""

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
_FIRST = "facts, manifests and footers read and checked, too; files in the system's cache"
_CSV = "pandas, read_csv of one column of a table of all series"
_PARQUET = "pandas, read_parquet of one column of one file"


def main() -> list[Row]:
    """One series of 120, every sample of a day, as a data frame."""
    day = make_day()
    with tempfile.TemporaryDirectory() as folder:
        record(f"{folder}/day", day)
        others = _write_others(Path(folder), day)
        job = Job(open_backend(f"{folder}/day"))

        def ask(opened: Job) -> pd.DataFrame:
            return opened.system(_METRIC, device=_DEVICE, node=NODE).to_pandas()

        rows = len(ask(job))
        again = _median(lambda: ask(job))
        first = _median(lambda: ask(Job(open_backend(f"{folder}/day"))))
        csv = _median(lambda: pd.read_csv(others[0], usecols=["time", _KEY]), repeats=3)
        parquet = _median(lambda: pd.read_parquet(others[1], columns=["time", _KEY]))
    note = f"{rows:,} samples of one of 120 series; job and files open"
    bar = f"≤ {_BAR_MS:g} ms"
    return [
        Row(f"{_WHAT}: again", again, "ms", bar, again <= _BAR_MS, _PARQUET, parquet, note),
        Row(f"{_WHAT}: beside CSV", again, "ms", "", None, _CSV, csv),
        Row(f"{_WHAT}: job opened and asked", first, "ms", "", None, _PARQUET, parquet, _FIRST),
    ]


def _write_others(folder: Path, day: Day) -> tuple[Path, Path]:
    """The day as people keep such tables: a CSV file, and a Parquet file as pandas writes it."""
    columns = {"time": pa.array(day.times_ns)}
    columns |= {one.key: pa.array(row) for one, row in zip(day.series, day.values, strict=True)}
    table = pa.table(columns)
    csv, parquet = folder / "day.csv", folder / "day.parquet"
    pyarrow.csv.write_csv(table, csv)
    pyarrow.parquet.write_table(table, parquet)
    return csv, parquet


def _median(work: Callable[[], object], repeats: int = _REPEATS) -> float:
    """Milliseconds, the first one left out."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1000 * statistics.median(times)
