"""Curves of other programs: values with a step and a time become scalars of a worker."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from sonde.importers._importer import Intake
from sonde.importers._rows import WorkerDescription, WorkerRows
from sonde.importers._scalar_names import loss_remark, name_scalars
from sonde.importers._sources import UNKNOWN_NODE
from sonde.records.step import Mode
from sonde.store.format import SCALARS

Point = tuple[int, int, float]  # time, step, value


@dataclass
class Curves:
    """The values of one recording by mode of the recording, if it has one, and name."""

    source: str  # where they come from, such as `tensorboard`
    points: dict[tuple[Mode | None, str], list[Point]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(
        self, name: str, time_ns: int, step: int, value: float, mode: Mode | None = None
    ) -> None:
        """Add a value; the mode is that of its run, if the run has one."""
        self.points[mode, name].append((time_ns, step, value))

    def write(self, rows: WorkerRows, intake: Intake) -> None:
        """Write all values, and remark which of them are losses."""
        named = []
        scalars: list[tuple[Any, ...]] = []
        for mode in dict.fromkeys(mode for mode, _ in self.points):
            counts = {name: len(self.points[mode, name]) for at, name in self.points if at == mode}
            names = name_scalars(counts, mode)
            named += list(names.items())
            for recorded, scalar in names.items():
                points = self.points[mode, recorded]
                rows.add_steps(scalar.mode.value, (step for _, step, _ in points if step >= 0))
                scalars += [
                    (scalar.name, time_ns, step, scalar.mode.value, value, self.source)
                    for time_ns, step, value in points
                ]
        rows.add_rows(SCALARS, sorted(scalars, key=lambda row: row[1]))
        if named:
            intake.remarks.append(loss_remark(named))


def describe_worker(framework: str, node: str = UNKNOWN_NODE, **facts: Any) -> WorkerDescription:
    """The worker of a recording that knows no ranks."""
    return WorkerDescription(0, node, framework=framework, **facts)
