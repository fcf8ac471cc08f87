"""Starts of a job's workers, as a data frame."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sonde.clock import iso
from sonde.read.workers import WorkerLife
from sonde.results.tables import TIME, Frame, aligned
from sonde.store.tables import from_numpy, from_texts


class Lives(tuple[WorkerLife, ...], Frame):
    """Every start of a worker, in order."""

    def to_arrow(self) -> pa.Table:
        """One row per start."""
        infos = [each.info for each in self]
        numbers = ("rank", "attempt", "restart", "pid", "world_size", "local_rank")
        starts = from_numpy(np.array([info.start_ns for info in infos], dtype=np.int64))
        return pa.table(
            {
                **{name: _integers([getattr(info, name) for info in infos]) for name in numbers},
                "node": from_texts([info.node for info in infos]),
                "device": from_texts([info.device for info in infos]),
                "framework": from_texts([info.framework for info in infos]),
                "start": starts.cast(TIME),
                "train_steps": _integers([_steps(each).get("train", 0) for each in self]),
                "failure": from_texts([_failure(each) for each in self]),
            }
        )

    def __repr__(self) -> str:
        if not self:
            return "No worker has started"
        titles = (
            "worker",
            "node",
            "device",
            "pid",
            "start",
            "attempt",
            "restart",
            "steps",
            "failure",
        )
        rows = [
            (
                *(str(each.info.rank), each.info.node, each.info.device, str(each.info.pid)),
                *(iso(each.info.start_ns), str(each.info.attempt), str(each.info.restart)),
                ", ".join(f"{count:,} {mode}" for mode, count in _steps(each).items()),
                _failure(each),
            )
            for each in self
        ]
        return aligned([titles, *rows], left_columns=len(titles))


def _steps(life: WorkerLife) -> Mapping[str, int]:
    return life.beat.steps if life.beat is not None else {}


def _failure(life: WorkerLife) -> str:
    return life.failure.message if life.failure is not None else ""


def _integers(values: list[int]) -> pa.ChunkedArray:
    return from_numpy(np.array(values, dtype=np.int64))
