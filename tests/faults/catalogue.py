"""All programs and what is wrong in them: the labels that rules are measured against.

Every program with a fault has a healthy twin in the same file; hard negatives only look odd.
Thresholds are set on one half, the programs for calibration; the other half, those held out, is
looked at in the end, once. Then it is for calibration, and a fresh one is made.
"""

from collections.abc import Iterator

from tests.faults import calibration, earlier, held_out, last_but_one, last_held_out, short_runs
from tests.faults.program import Part, Program

_SEVERAL_WORKERS = {
    **calibration.SEVERAL_WORKERS,
    **short_runs.SEVERAL_WORKERS,
    **held_out.SEVERAL_WORKERS,
    **last_held_out.SEVERAL_WORKERS,
    **last_but_one.SEVERAL_WORKERS,
    **earlier.SEVERAL_WORKERS,
}


def _programs() -> Iterator[Program]:
    parts = (
        (Part.CALIBRATION, calibration),
        (Part.CALIBRATION, short_runs),
        (Part.CALIBRATION, last_held_out),
        (Part.HELD_OUT, held_out),
        (Part.EARLIER, last_but_one),
        (Part.EARLIER, earlier),
    )
    for part, labels in parts:
        for name, fault in labels.FAULTS.items():
            given = {**earlier.GIVEN, **short_runs.GIVEN}.get(name, {})
            beside = earlier.BESIDE_ANOTHER.get(name, "")
            disk_mib = earlier.DISK_MIB.get(name, 0)
            workers = _SEVERAL_WORKERS.get(name, 1)
            neighbors = short_runs.NEIGHBORS.get(name, 0)
            yield Program(name, part, fault, workers, given, beside, disk_mib, neighbors)
    for part, labels in parts:
        for name in labels.ODD:
            yield Program(name, part, workers=_SEVERAL_WORKERS.get(name, 1))


PROGRAMS: tuple[Program, ...] = tuple(_programs())
