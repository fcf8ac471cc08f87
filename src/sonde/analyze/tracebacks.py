"""Find the line of the user's code in a Python traceback."""

import re
from dataclasses import dataclass

_FRAME = re.compile(r'[ |+-]*File "(?P<file>.+)", line (?P<line>\d+)(?:, in (?P<function>.+))?')
_MARKERS = re.compile(r"[\s~^]+")  # the line below the code, which points at the expression
_START = "Traceback (most recent call last)"
# code of Python, of installed packages and of Sonde
_FOREIGN = ("<frozen ", "/site-packages/", "/dist-packages/", "/lib/python3", "/sonde/hook/")


@dataclass(frozen=True, slots=True)
class FailingLine:
    """The innermost frame of the user's code."""

    file: str
    line: int
    function: str  # empty for a syntax error
    code: str  # empty if the source is not available
    row: int  # its line in the traceback, from 0


def failing_line(traceback: str) -> FailingLine | None:
    """Return where the user's code failed; None if the traceback has no such frame.

    Of chained exceptions, the last one counts: it is the one that was not caught.
    """
    rows = traceback.splitlines()
    starts = [row for row, text in enumerate(rows) if _START in text]
    for row in range(len(rows) - 1, (starts[-1] if starts else 0) - 1, -1):
        match = _FRAME.fullmatch(rows[row])
        if match is None or any(part in match["file"] for part in _FOREIGN):
            continue
        code = rows[row + 1].lstrip(" |") if row + 1 < len(rows) else ""
        is_code = not (_FRAME.fullmatch(rows[row + 1]) if code else True)
        is_code = is_code and not _MARKERS.fullmatch(code) and rows[row + 1].startswith((" ", "|"))
        line, function = int(match["line"]), match["function"] or ""
        return FailingLine(match["file"], line, function, code if is_code else "", row)
    return None
