"""All programs on which rules are measured.

Thresholds are set on the calibration programs. Held-out programs are judged once, at the end. After
that, they get the next set number and become calibration programs, and new ones are written.
"""

from pathlib import Path

from tests.faults.label import LabelError, read_label
from tests.faults.program import FOLDER, Program


def load_program(path: Path) -> Program:
    """Load a program with its label."""
    try:
        return Program(path.stem, path.parent.name, read_label(path.read_text()))
    except LabelError as error:
        raise LabelError(f"{path}: {error}") from error


PROGRAMS: tuple[Program, ...] = tuple(load_program(path) for path in sorted(FOLDER.glob("*/*.py")))
