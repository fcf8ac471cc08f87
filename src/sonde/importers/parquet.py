"""Import losses and other values from Parquet files."""

import pyarrow as pa
import pyarrow.parquet as pq

from sonde.errors import DamagedError
from sonde.importers._damages import read_bytes
from sonde.importers._importer import Importer, Intake
from sonde.importers._sources import Source
from sonde.importers._table_rows import read_table


class ParquetImporter(Importer):
    """Losses and other values in Parquet: a column per value, or columns name, step and value.

    Recognized columns: step (or epoch), time, mode, worker.
    """

    endings = (".parquet",)

    def read(self, source: Source, intake: Intake) -> None:
        data = read_bytes(source.path, intake.advance)
        try:
            table = pq.read_table(pa.BufferReader(data))
        except (pa.ArrowException, OSError) as error:
            raise DamagedError(f"Cannot read {source.path}: {error}") from error
        read_table(table, source, intake, "parquet")
