"""PyTorch watched inside the test's own process, and what was recorded of it."""

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
from sonde.settings import HookSettings, WorkerPlace, read_collections
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
    """Everything that a session has written; there once it is closed."""

    session: Session
    rows: dict[str, list[Row]] = field(default_factory=dict)
    values: dict[At, dict[str, Array]] = field(default_factory=dict)

    def read(self) -> None:
        """Reads all of it."""
        uri = self.session.store.worker.job_uri
        assert uri is not None
        backend = open_backend(uri)
        for family in FAMILIES.values():
            self.rows[family.name] = _rows(FolderReader(backend, worker_folder(0), family), family)
        for entry in backend.entries(worker_folder(0)):
            if entry.key.endswith(".safetensors"):
                tensors, facts = decode_tensors(backend.read(entry.key), entry.key)
                arrays = {name: to_array(one) for name, one in tensors.items()}
                self.values.setdefault((facts["mode"], int(facts["step"])), {}).update(arrays)

    def scalars(self, name: str, mode: str = "train") -> dict[int, float]:
        """The values of a number, by step."""
        rows = self.rows[SCALARS.name]
        return {
            row["step"]: row["value"] for row in rows if (row["name"], row["mode"]) == (name, mode)
        }

    def statistics(self, mode: str = "train", step: int = 0) -> dict[str, Row]:
        """The statistics of all tensors of a step; each is there just once."""
        rows = [
            row for row in self.rows[STATISTICS.name] if (row["mode"], row["step"]) == (mode, step)
        ]
        by_name = {row["name"]: row for row in rows}
        assert len(by_name) == len(rows)
        return by_name

    def observations(self, kind: str) -> list[Row]:
        """Facts of a kind."""
        return [row for row in self.rows[OBSERVATIONS.name] if row["kind"] == kind]

    def phases(self, mode: str = "train", step: int = 0) -> list[str]:
        """The phases of a step."""
        return [
            row["name"]
            for row in self.rows[EVENTS.name]
            if (row["category"], row["mode"], row["step"]) == ("phase", mode, step)
        ]

    def said(self) -> dict[str, str]:
        """What was said about the recording, and why."""
        return {row["what"]: row["reason"] for row in self.rows[NOTICES.name]}


@contextmanager
def watched(
    *saves: str, closely: Any = True, rests: Any = False, **settings: Any
) -> Iterator[Recorded]:
    """Everything inside is watched, every step of it closely; afterwards it is recorded.

    Args:
        *saves: What a person asks for, as on the command line.
        closely: Whether every step is watched closely.
        rests: Whether hooks may rest.
        **settings: Of the hook.
    """
    place = WorkerPlace(node="node-a", job_uri=f"memory://watched-{next(_NUMBERS)}", rank=0)
    collections = read_collections(list(saves))
    hook = HookSettings(
        **{"collections": collections, "statistics": (), "profile": (), "needed": (), **settings}
    )
    session = Session(place, hook, SystemClock())
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
