"""Observations of a job, as a data frame."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.read.scalars import Matching
from sonde.read.workers import WorkerReader
from sonde.results.tables import TIME, aligned
from sonde.results.worker_rows import WorkerRows
from sonde.store.format import OBSERVATIONS
from sonde.store.tables import from_numpy, from_texts

_MAX_LINES = 40


@dataclass(frozen=True)
class Observations(WorkerRows):
    """Observations of workers: facts that need no threshold."""

    kind: str = "*"

    def _worker_table(self, reader: WorkerReader) -> pa.Table:
        rows = reader.folder(OBSERVATIONS).rows(only={"kind": Matching(self.kind)})
        texts = {
            name: rows[name].cast(pa.string()) for name in ("kind", "subject", "mode", "detail")
        }
        return pa.table(
            {
                "kind": texts["kind"],
                "subject": texts["subject"],
                "worker": from_numpy(np.full(rows.num_rows, reader.rank, dtype=np.int64)),
                "mode": texts["mode"],
                "step": rows["step"],
                "time": rows["time_ns"].cast(TIME),
                "value": rows["value"],
                "detail": texts["detail"],
            }
        )

    def __repr__(self) -> str:
        if not len(self):
            return "No matching observation recorded"
        rows = [(*of, str(count), steps) for of, count, steps in self._counted()]
        titles = ("kind", "subject", "observations", "steps")
        more = f"\n… and {len(rows) - _MAX_LINES} more" if len(rows) > _MAX_LINES else ""
        return aligned([titles, *rows[:_MAX_LINES]], left_columns=2) + more

    def _counted(self) -> Iterator[tuple[tuple[str, str], int, str]]:
        """Kind and subject, count, and range of steps."""
        steps: dict[tuple[str, str], list[int]] = {}
        for row in self._table.select(["kind", "subject", "step"]).to_pylist():
            steps.setdefault((row["kind"], row["subject"]), []).append(row["step"])
        for of, recorded_steps in sorted(steps.items()):
            yield of, len(recorded_steps), f"{min(recorded_steps)}–{max(recorded_steps)}"

    def _shown(self) -> pa.Table:
        if not len(self):
            return self._table
        rows = list(self._counted())
        return pa.table(
            {
                "kind": from_texts([kind for (kind, _), _, _ in rows]),
                "subject": from_texts([subject for (_, subject), _, _ in rows]),
                "observations": from_numpy(np.array([count for _, count, _ in rows])),
                "steps": from_texts([steps for _, _, steps in rows]),
            }
        )
