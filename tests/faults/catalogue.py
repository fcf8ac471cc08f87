"""All programs: what rules are measured on.

Thresholds are set on the programs for calibration. Those held out are judged once, in the end; then
they get the next number as their set, are for calibration too, and others are written.
"""

from pathlib import Path

from tests.faults.label import LabelError, read_label
from tests.faults.program import FOLDER, Program


def load_program(path: Path) -> Program:
    """The program in a file, with its label."""
    try:
        return Program(path.stem, path.parent.name, read_label(path.read_text()))
    except LabelError as error:
        raise LabelError(f"{path}: {error}") from error


PROGRAMS: tuple[Program, ...] = tuple(load_program(path) for path in sorted(FOLDER.glob("*/*.py")))
