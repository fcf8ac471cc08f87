"""Chrome's trace format, for Perfetto and chrome://tracing."""

from typing import BinaryIO

from sonde.errors import UsageError
from sonde.exports._export import Advance, Export, Selection
from sonde.results.chrome_trace import write_trace


class ChromeTrace(Export):
    """The timeline of workers and machines, for Perfetto."""

    needs_timeline = True

    def write(self, selection: Selection, sink: BinaryIO, advance: Advance) -> None:
        if selection.timeline is None:
            raise UsageError("A Chrome trace requires a timeline.")
        write_trace(selection.timeline, sink, advance)
