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
        infos = [one.info for one in self]
        numbers = ("rank", "attempt", "restart", "pid", "world_size", "local_rank")
        starts = from_numpy(np.array([one.start_ns for one in infos], dtype=np.int64))
        return pa.table(
            {
                **{name: _integers([getattr(one, name) for one in infos]) for name in numbers},
                "node": from_texts([one.node for one in infos]),
                "device": from_texts([one.device for one in infos]),
                "framework": from_texts([one.framework for one in infos]),
                "start": starts.cast(TIME),
                "train_steps": _integers([_steps(one).get("train", 0) for one in self]),
                "failure": from_texts([_failure(one) for one in self]),
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
                *(str(one.info.rank), one.info.node, one.info.device, str(one.info.pid)),
                *(iso(one.info.start_ns), str(one.info.attempt), str(one.info.restart)),
                ", ".join(f"{count:,} {mode}" for mode, count in _steps(one).items()),
                _failure(one),
            )
            for one in self
        ]
        return aligned([titles, *rows], left=len(titles))


def _steps(life: WorkerLife) -> Mapping[str, int]:
    return life.beat.steps if life.beat is not None else {}


def _failure(life: WorkerLife) -> str:
    return life.failure.message if life.failure is not None else ""


def _integers(values: list[int]) -> pa.ChunkedArray:
    return from_numpy(np.array(values, dtype=np.int64))
