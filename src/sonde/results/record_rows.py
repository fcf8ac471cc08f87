"""Records of one type as a data frame: a column per field, times in seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.clock import NANOSECONDS, iso
from sonde.drawing.cells import format_cell
from sonde.records.chart import Spec
from sonde.results.charts import bars, rows_of, unit_of
from sonde.results.tables import TIME, Frame, aligned
from sonde.store.tables import from_numpy, from_texts

_NS = "_ns"
_START = "start_ns"
_TIME = "time"
_MAX_LINES = 20
_MAX_TEXT_LENGTH = 60


@dataclass(frozen=True)
class RecordRows(Frame):
    """Records; their fields are the columns."""

    records: tuple[Any, ...]
    kind: type
    nothing: str = "No matching data recorded"
    times: tuple[str, ...] = ()  # fields in seconds without a `_seconds` suffix

    def __len__(self) -> int:
        return len(self.records)

    def to_arrow(self) -> pa.Table:
        """One row per record."""
        columns = {}
        for field in fields(self.kind):
            values = [getattr(record, field.name) for record in self.records]
            if field.name == _START:
                columns[_TIME] = from_numpy(np.array(values, dtype=np.int64)).cast(TIME)
            elif field.name.endswith(_NS):
                seconds = np.array(values, dtype=np.float64) / NANOSECONDS
                columns[_name(field.name)] = from_numpy(seconds)
            else:
                columns[field.name] = _column(field, values)
        return pa.table(columns)

    def documents(self) -> list[dict[str, Any]]:
        """As plain JSON values."""
        return [
            {
                _name(field.name): _value(field.name, getattr(record, field.name))
                for field in fields(record)
            }
            for record in self.records
        ]

    def __repr__(self) -> str:
        rows = self.documents()[:_MAX_LINES]
        if not rows:
            return self.nothing
        titles = [name for name in rows[0] if name != _TIME]
        texts = sum(isinstance(rows[0][name], str) for name in titles)
        # text columns first, aligned left
        titles.sort(key=lambda name: not isinstance(rows[0][name], str))
        more = f"\n… and {len(self) - len(rows)} more" if len(self) > len(rows) else ""
        return (
            aligned([titles, *(self._cells(row, titles) for row in rows)], left_columns=texts)
            + more
        )

    def _cells(self, row: Mapping[str, Any], titles: Sequence[str]) -> list[str]:
        return [
            _cell(row[name], "seconds" if name in self.times else unit_of(name)) for name in titles
        ]

    def _chart_spec(self) -> Spec:
        """Bars of the first column in seconds or bytes; a table if there is none."""
        table = self.to_arrow()
        units = ("seconds", "bytes")
        drawn = [name for name in table.column_names if name.rpartition("_")[2] in units]
        if not drawn:
            return rows_of(table, self.kind.__name__)
        kinds = {field.name: field.type for field in table.schema}
        labels = [name for name, kind in kinds.items() if pa.types.is_string(kind)]
        unit = drawn[0].rpartition("_")[2]
        return bars(table, self.kind.__name__, labels or table.column_names[:1], drawn[:1], unit)


def _column(field: "Field[Any]", values: Sequence[Any]) -> pa.Array:
    if isinstance(field.type, type) and issubclass(field.type, str):
        return from_texts(values)
    return from_numpy(np.array(values, dtype=np.float64 if field.type is float else np.int64))


def _name(field: str) -> str:
    if field == _START:
        return _TIME
    return f"{field.removesuffix(_NS)}_seconds" if field.endswith(_NS) else field


def _value(field: str, value: Any) -> Any:
    if field == _START:
        return iso(value)
    if field.endswith(_NS):
        return value / NANOSECONDS
    return str(value) if isinstance(value, str) else value


def _cell(value: Any, unit: str) -> str:
    if isinstance(value, float) or (unit and isinstance(value, int)):
        return format_cell(value, unit)
    return shortened(str(value))


def shortened(text: str) -> str:
    """Truncate a long name, such as that of a kernel."""
    return text if len(text) <= _MAX_TEXT_LENGTH else f"{text[: _MAX_TEXT_LENGTH - 1]}…"
