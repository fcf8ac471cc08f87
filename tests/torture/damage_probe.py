"""Probe: every file of a job, live and sealed, with every kind of damage."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

from tests.torture.damage import Counts, Intact, cases
from tests.torture.probe import Outcome


class Damage:
    """Damages copies of a recorded job, one file at a time."""

    name = "damage"

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per damage."""
        with tempfile.TemporaryDirectory(prefix="sonde-torture-") as folder:
            jobs = [
                Intact(Path(folder, name), is_sealed=name == "sealed")
                for name in ("live", "sealed")
            ]
            while True:
                for job in jobs:
                    yield from damaged(job, seed, deadline)
                seed += 1
                if monotonic() > deadline:
                    return


def damaged(job: Intact, seed: int, deadline: float) -> Iterator[Outcome]:
    """Yield one outcome per file and kind of damage, until all were tried or time is up."""
    for file, kind in cases(job, seed):
        counts = Counts()
        job.try_damage(file, kind, seed, counts)
        crash, silent = counts.crashes[:1], counts.silent[:1]
        yield Outcome(
            f"{kind}: {file}",
            seed,
            crash=crash[0] if crash else None,
            silent_loss=silent[0] if silent else None,
        )
        if monotonic() > deadline:
            return


PROBES = (Damage(),)
