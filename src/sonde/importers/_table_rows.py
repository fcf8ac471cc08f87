"""Tables of losses and other values, with a column per value or a row per value."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sonde.clock import NANOSECONDS
from sonde.errors import DamagedError
from sonde.importers._curves import Curves
from sonde.importers._importer import Intake
from sonde.importers._rows import WorkerDescription
from sonde.importers._scalar_names import mode_of
from sonde.importers._sources import UNKNOWN_NODE, Source
from sonde.records.arrays import IntArray

_STEPS = ("step", "global_step", "_step", "iteration", "iter", "epoch")
_TIMES = ("time", "timestamp", "_timestamp", "wall time", "wall_time", "datetime", "date")
_NAMES, _VALUE = ("name", "metric", "tag"), "value"
_MODES, _WORKERS = ("mode", "split"), ("worker", "rank")
_TEXT_COLUMNS = ("source", "node")
_MAX_RANK = 1_000_000
_YEAR_2000 = 946_684_800
# numbers that count seconds, milliseconds, microseconds or nanoseconds since the epoch
_UNITS = (1, 10**3, 10**6, 10**9)
_MILLISECOND_NS = 1_000_000


def read_table(table: pa.Table, source: Source, intake: Intake, kind: str) -> None:
    """Write the numbers of a table.

    Raises:
        DamagedError: It has no numbers, or its texts are not UTF-8.
    """
    try:
        _read_columns(table, source, intake, kind)
    except UnicodeDecodeError as error:
        raise DamagedError(f"Cannot read {source.path}: {error}") from error


def _read_columns(table: pa.Table, source: Source, intake: Intake, kind: str) -> None:
    columns = {name.strip().lower(): index for index, name in enumerate(table.column_names)}
    times_ns = _times(table, columns, source, intake)
    steps = _steps(table, columns)
    by_worker: dict[int, Curves] = defaultdict(lambda: Curves(kind))
    workers = _integers(table, columns, _WORKERS)
    modes = _texts(table, columns, _MODES)
    if _VALUE in columns and _first(columns, _NAMES) is not None:
        names = _texts(table, columns, _NAMES)
        values = [(names[row], row, value) for row, value in _numbers(table[columns[_VALUE]])]
    else:
        taken = {_first(columns, group) for group in (_STEPS, _TIMES, _MODES, _WORKERS)}
        values = [
            (table.column_names[index].strip(), row, value)
            for name, index in columns.items()
            if index not in taken and name not in _TEXT_COLUMNS
            for row, value in _numbers(table[index])
        ]
    for name, row, value in values:
        mode = mode_of(modes[row]) if modes[row] else None
        by_worker[workers[row]].add(name, int(times_ns[row]), int(steps[row]), value, mode)
    if not by_worker:
        raise DamagedError(f"{source.path} has no column of numbers.")
    for rank, curves in sorted(by_worker.items()):
        rows = intake.worker(WorkerDescription(rank, UNKNOWN_NODE, framework=kind))
        curves.write(rows, intake)


def _first(columns: dict[str, int], names: Iterable[str]) -> int | None:
    return next((columns[name] for name in names if name in columns), None)


def _numbers(column: pa.ChunkedArray) -> list[tuple[int, float]]:
    """The rows with a number; texts and empty cells are not numbers."""
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return []
    return [
        (row, float(value)) for row, value in enumerate(column.to_pylist()) if value is not None
    ]


def _integers(table: pa.Table, columns: dict[str, int], names: Sequence[str]) -> list[int]:
    index = _first(columns, names)
    if index is None or not pa.types.is_integer(table[index].type):
        return [0] * table.num_rows
    return [
        value if value is not None and 0 <= value < _MAX_RANK else 0
        for value in table[index].to_pylist()
    ]


def _texts(table: pa.Table, columns: dict[str, int], names: Sequence[str]) -> list[str]:
    index = _first(columns, names)
    if index is None:
        return [""] * table.num_rows
    return ["" if value is None else str(value) for value in table[index].to_pylist()]


def _steps(table: pa.Table, columns: dict[str, int]) -> IntArray:
    """The steps; row numbers if no column has them."""
    index = _first(columns, _STEPS)
    numbers = np.arange(table.num_rows, dtype=np.int64)
    if index is None:
        return numbers
    for row, value in _numbers(table[index]):
        if abs(value) < 1 << 53:
            numbers[row] = int(value)
    return numbers


def _times(table: pa.Table, columns: dict[str, int], source: Source, intake: Intake) -> IntArray:
    """The times; without a column of them, the table ends when its file was written."""
    index = _first(columns, _TIMES)
    if index is not None:
        try:
            return _instants(table[index])
        except (pa.ArrowException, ValueError, OverflowError):
            intake.left_out["unreadable times"] += table.num_rows
    rows = np.arange(table.num_rows, dtype=np.int64) * _MILLISECOND_NS
    last_ns = int(rows[-1]) if len(rows) else 0
    return rows + intake.shift_ns(source.path, 0, last_ns)


def _instants(column: pa.ChunkedArray) -> IntArray:
    """Nanoseconds since the epoch from dates, ISO texts, or numbers since the epoch."""
    if pa.types.is_string(column.type):
        column = pc.cast(column, pa.timestamp("ns", tz="UTC"))
    if pa.types.is_timestamp(column.type):
        moments = column.cast(pa.timestamp("ns", tz=column.type.tz)).cast(pa.int64())
        times_ns = np.asarray(moments.fill_null(0).to_numpy(), dtype=np.int64)
        if times_ns.min(initial=_YEAR_2000) <= 0:
            raise ValueError("not a time since the epoch")
        return times_ns
    numbers = np.array([value or 0.0 for value in column.to_pylist()], dtype=np.float64)
    largest = float(numbers.max(initial=0.0))
    units = [unit for unit in _UNITS if largest / unit < 4 * 10**9]
    if not largest >= _YEAR_2000 or numbers.min() <= 0 or not units:
        raise ValueError("not a time since the epoch")
    return np.rint(numbers * (NANOSECONDS / units[0])).astype(np.int64)
