"""Programs that nobody who makes rules has looked at: they are judged in the end, once."""

from tests.faults.program import Fault

FAULTS: dict[str, Fault] = {}

SEVERAL_WORKERS: dict[str, int] = {}

ODD: tuple[str, ...] = ()
