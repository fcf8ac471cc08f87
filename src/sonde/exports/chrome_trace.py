"""Chrome's trace format, as Perfetto and chrome://tracing open it."""

from typing import BinaryIO

from sonde.errors import UsageError
from sonde.exports._export import Advance, Export, Selection
from sonde.results.chrome_trace import write_trace


class ChromeTrace(Export):
    """One timeline of workers and machines for Perfetto; by steps or by time."""

    needs_timeline = True

    def write(self, selection: Selection, sink: BinaryIO, advance: Advance) -> None:
        if selection.timeline is None:
            raise UsageError("A trace is made of a timeline, and none was given.")
        write_trace(selection.timeline, sink, advance)
