"""The output of `sonde logs`."""

from collections.abc import Sequence

from rich.text import Text

from sonde.clock import iso
from sonde.drawing.printable import escape_text
from sonde.formats import format_count, format_local_clock, pluralize
from sonde.records.log_line import OMITTED, LogLine
from sonde.records.step import Mode
from sonde.terminal.styles import QUIET

_ERROR = "red"


class LogPrinter:
    """Formats lines in order, with a mark where a step begins."""

    def __init__(self, *, has_workers: bool) -> None:
        self._has_workers = has_workers
        self._step: tuple[int | None, str, int] | None = None

    def lines(self, lines: Sequence[LogLine]) -> list[Text]:
        """One text per line; the step is named where it changes."""
        return [self._line(line) for line in lines]

    def _line(self, line: LogLine) -> Text:
        step = (line.worker, line.mode, line.step)
        mark = "" if step == self._step else _mark(line)
        self._step = step
        worker = f" [{line.worker}]" if self._has_workers else ""
        clock = format_local_clock(iso(line.time_ns))
        text = Text(f"{clock}{worker} {mark:>12}  ", QUIET)
        if line.stream == OMITTED:
            text.append(f"… {pluralize(int(line.text), 'line')} omitted", QUIET)
        else:
            text.append(escape_text(line.text), _ERROR if line.stream == "stderr" else "")
        return text


def _mark(line: LogLine) -> str:
    name = "step" if line.mode == Mode.TRAIN.value else line.mode
    return f"{name} {format_count(line.step)}"
