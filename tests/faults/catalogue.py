"""All programs and what is wrong in them: the labels that rules are measured against.

Every program with a fault has a healthy twin in the same file; hard negatives only look odd.
Thresholds are set on the programs for calibration; those held out are judged once, at the end.
Then they are for calibration too, and fresh ones are written.
"""

from collections.abc import Iterator

from tests.faults import held_out
from tests.faults.labels import set_1, set_2, set_3, set_4, set_5, set_6, short_runs
from tests.faults.labels._labels import Labels
from tests.faults.program import Part, Program

_SETS = (
    (Part.CALIBRATION, set_3.LABELS),
    (Part.CALIBRATION, short_runs.LABELS),
    (Part.CALIBRATION, set_4.LABELS),
    (Part.CALIBRATION, set_5.LABELS),
    (Part.CALIBRATION, set_6.LABELS),
    (Part.HELD_OUT, held_out.LABELS),
    (Part.EARLIER, set_2.LABELS),
    (Part.EARLIER, set_1.LABELS),
)


def _programs(part: Part, labels: Labels) -> Iterator[Program]:
    for name, fault in labels.faults.items():
        yield Program(
            name,
            part,
            fault,
            labels.workers.get(name, 1),
            labels.parameters.get(name, {}),
            labels.compared_by.get(name, ""),
            labels.disk_mib.get(name, 0),
            labels.neighbors.get(name, 0),
        )
    for name in labels.healthy_but_odd:
        yield Program(name, part, workers=labels.workers.get(name, 1))


PROGRAMS: tuple[Program, ...] = tuple(
    program for part, labels in _SETS for program in _programs(part, labels)
)
