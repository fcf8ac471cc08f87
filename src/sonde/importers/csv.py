"""Import losses and other values from CSV files."""

from collections import Counter

import pyarrow as pa
import pyarrow.csv as arrow_csv

from sonde.errors import DamagedError
from sonde.importers._damages import read_bytes
from sonde.importers._importer import Importer, Intake
from sonde.importers._sources import Source
from sonde.importers._table_rows import read_table


class CsvImporter(Importer):
    """Losses and other values in CSV: a column per value, or columns name, step and value.

    Recognized columns: step (or epoch), time, mode, worker.
    """

    endings = (".csv", ".csv.gz")

    def read(self, source: Source, intake: Intake) -> None:
        data = read_bytes(source.path, intake.advance)
        skipped = Counter[str]()

        def skip(row: arrow_csv.InvalidRow) -> str:
            del row
            skipped["lines with the wrong number of values"] += 1
            return "skip"

        options = arrow_csv.ParseOptions(invalid_row_handler=skip)
        try:
            stream = pa.input_stream(pa.py_buffer(data), compression=_compression(source))
            table = arrow_csv.read_csv(stream, parse_options=options)
        except (pa.ArrowException, OSError) as error:
            raise DamagedError(f"Cannot read {source.path}: {error}") from error
        read_table(table, source, intake, "csv")
        intake.left_out += skipped


def _compression(source: Source) -> str | None:
    return "gzip" if source.path.suffix == ".gz" else None
