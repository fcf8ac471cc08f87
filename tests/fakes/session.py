"""Record PyTorch in the process of the test."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy.typing as npt

from sonde.clock import SystemClock
from sonde.hook.frameworks.torch import PyTorch
from sonde.hook.session import Session
from sonde.read.arrays import to_array
from sonde.settings import HookSettings, WorkerPlacement, read_collections
from sonde.store.backends import open_backend
from sonde.store.format import EVENTS, FAMILIES, NOTICES, OBSERVATIONS, SCALARS, STATISTICS, Family
from sonde.store.layout import worker_folder
from sonde.store.reader import FolderReader
from sonde.store.tensors import decode_tensors

Array = npt.NDArray[Any]
Row = dict[str, Any]
At = tuple[str, int]

_NUMBERS = count()


@dataclass
class Recorded:
    """Everything that a session has written, available once it is closed."""

    session: Session
    rows: dict[str, list[Row]] = field(default_factory=dict)
    values: dict[At, dict[str, Array]] = field(default_factory=dict)

    def read(self) -> None:
        """Read all recorded data."""
        uri = self.session.store.worker.job_uri
        assert uri is not None
        backend = open_backend(uri)
        for family in FAMILIES.values():
            self.rows[family.name] = _rows(FolderReader(backend, worker_folder(0), family), family)
        for entry in backend.entries(worker_folder(0)):
            if entry.key.endswith(".safetensors"):
                tensors, facts = decode_tensors(backend.read(entry.key), entry.key)
                arrays = {name: to_array(tensor) for name, tensor in tensors.items()}
                self.values.setdefault((facts["mode"], int(facts["step"])), {}).update(arrays)

    def scalars(self, name: str, mode: str = "train") -> dict[int, float]:
        """Return the values of a scalar by step."""
        rows = self.rows[SCALARS.name]
        return {
            row["step"]: row["value"] for row in rows if (row["name"], row["mode"]) == (name, mode)
        }

    def statistics(self, mode: str = "train", step: int = 0) -> dict[str, Row]:
        """Return the statistics of all tensors of a step; each must be recorded once."""
        rows = [
            row for row in self.rows[STATISTICS.name] if (row["mode"], row["step"]) == (mode, step)
        ]
        by_name = {row["name"]: row for row in rows}
        assert len(by_name) == len(rows)
        return by_name

    def observations(self, kind: str) -> list[Row]:
        """Return the observations of a kind."""
        return [row for row in self.rows[OBSERVATIONS.name] if row["kind"] == kind]

    def phases(self, mode: str = "train", step: int = 0) -> list[str]:
        """Return the phases of a step."""
        return [
            row["name"]
            for row in self.rows[EVENTS.name]
            if (row["category"], row["mode"], row["step"]) == ("phase", mode, step)
        ]

    def notices(self) -> dict[str, str]:
        """Return the notices about the recording with their reasons."""
        return {row["what"]: row["reason"] for row in self.rows[NOTICES.name]}


@contextmanager
def watched(
    *saves: str, closely: Any = True, rests: Any = False, **settings: Any
) -> Iterator[Recorded]:
    """Record everything inside the context, every step in full by default.

    Args:
        *saves: Collections to save, as on the command line.
        closely: Whether every step is recorded in full.
        rests: Whether hooks may pause.
        ****settings: Settings of the hook.
    """
    worker = WorkerPlacement(node="node-a", job_uri=f"memory://watched-{next(_NUMBERS)}", rank=0)
    collections = read_collections(list(saves))
    hook = HookSettings(
        **{"collections": collections, "statistics": (), "profile": (), "needed": (), **settings}
    )
    session = Session(worker, hook, SystemClock())
    adapter = PyTorch()
    adapter.attach(session)
    session.frameworks.attach("torch", adapter)
    if closely:
        adapter.modules.deferred.policy.max_steps = 0
    adapter.modules.deferred.rest.is_allowed = rests
    recorded = Recorded(session)
    try:
        yield recorded
    finally:
        session.close()
        adapter.detach()
    assert session.guard.failed == {}
    recorded.read()


def _rows(reader: FolderReader, family: Family) -> list[Row]:
    reader.refresh()
    return reader.rows().to_pylist() if family.columns else []
