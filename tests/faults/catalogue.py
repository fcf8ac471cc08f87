"""All programs and what is wrong in them: the labels that rules are measured against.

Every program with a fault has a healthy twin in the same file; hard negatives only look odd.
Thresholds are set on the programs for calibration; those held out are looked at in the end, once.
"""

from collections.abc import Iterator

from tests.faults import calibration, held_out, once_held_out
from tests.faults.program import Part, Program

_SEVERAL_WORKERS = {
    **calibration.SEVERAL_WORKERS,
    **once_held_out.SEVERAL_WORKERS,
    **held_out.SEVERAL_WORKERS,
}


def _programs() -> Iterator[Program]:
    parts = (
        (Part.CALIBRATION, calibration),
        (Part.CALIBRATION, once_held_out),
        (Part.HELD_OUT, held_out),
    )
    for part, labels in parts:
        for name, fault in labels.FAULTS.items():
            given = calibration.GIVEN.get(name, {})
            beside = calibration.BESIDE_ANOTHER.get(name, "")
            disk_mib = calibration.DISK_MIB.get(name, 0)
            workers = _SEVERAL_WORKERS.get(name, 1)
            yield Program(name, part, fault, workers, given, beside, disk_mib)
    for part, labels in parts:
        for name in labels.ODD:
            yield Program(name, part, workers=_SEVERAL_WORKERS.get(name, 1))


PROGRAMS: tuple[Program, ...] = tuple(_programs())
