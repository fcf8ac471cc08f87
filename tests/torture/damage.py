"""Damage every file of a recorded job in every way, and run all queries.

Requirement: whatever happens to a file of a finished job, opening and querying it raises only
SondeError, and every answer equals that of the intact job, or the damage is reported.

`python -m tests.torture.damage SECONDS [SEED]` runs it and prints the counts.
"""

import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sonde.client.job import Job
from sonde.engine.saved_progress import Progress, save_progress
from sonde.errors import SondeError
from sonde.records.finding import Finding, Severity
from sonde.records.notice import Notice, NoticeKind
from sonde.store.backends import open_backend
from sonde.store.format import FAMILIES
from sonde.store.seal import FamilyFolder, seal_folder
from tests.fakes.clock import START_NS, FakeClock
from tests.fakes.job import FakeJob
from tests.fakes.python_profile import FakeProfile
from tests.fakes.stores import write_findings

GRADIENT = "gradient/first.weight"
_STEPS = 12
_GAP = Notice(NoticeKind.LOST, "system samples", "disk full", START_NS, START_NS + 10**9)


def record_job(folder: Path, *, is_sealed: bool) -> FakeClock:
    """Record a small finished job of one node and two workers, with every kind of file."""
    job = FakeJob(str(folder))
    job.record({"cpu.user_percent": range(40), "gpu.power_watts/gpu0": range(40)})
    job.writer.report_lost(_GAP)
    for rank in range(2):
        worker = job.worker(rank, world_size=2).add_tensor(GRADIENT, "gradients")
        for step in range(_STEPS):
            worker.scalar("loss", step, 1.0 / (1 + step))
            worker.statistics(GRADIENT, step, [1.0, 2.0, 3.0 + step])
            worker.step(step, {"forward": 0.1, "backward": 0.2})
            worker.flush()
        worker.values(3, {GRADIENT: _array(3 + rank)}).values(6, {GRADIENT: _array(6 + rank)})
        worker.observation("unowned-parameter", "last.bias", 2)
        worker.operation("aten::mm", "operator", 0.0, 0.01)
        worker.notice("activations", "inside a compiled region")
        FakeProfile(worker).add_samples((("main", "train.py", 1),), 3 + rank).write(number=rank)
        worker.flush().beat()
    job.beat().flush()
    save_progress(job.backend, Progress())
    write_findings(job.backend, [Finding("LossSpike", Severity.WARNING, "The loss jumped.")])
    if is_sealed:
        for folder_name in ("nodes/node-a", "workers/0", "workers/1"):
            for family in FAMILIES.values():
                seal_folder(FamilyFolder(job.backend, folder_name, family), is_over=True)
    job.close()
    return job.clock


def _array(step: int) -> Any:
    return np.arange(6, dtype=np.float32).reshape(2, 3) + step


QUERIES: Mapping[str, Callable[[Job], Any]] = {
    "status": lambda job: _without_damages(job.summary),
    "findings": lambda job: job.findings().documents(),
    "stages": lambda job: job.stages.to_arrow().to_pylist(),
    "system": lambda job: job.system().to_arrow().to_pylist(),
    "buckets": lambda job: job.system("cpu.*").buckets(4).to_arrow().to_pylist(),
    "steps": lambda job: job.steps().to_arrow().to_pylist(),
    "events": lambda job: job.events().to_arrow().to_pylist(),
    "losses": lambda job: job.losses.to_arrow().to_pylist(),
    "observations": lambda job: job.observations().to_arrow().to_pylist(),
    "tensors": lambda job: job.tensors().to_arrow().to_pylist(),
    "statistics": lambda job: job.tensor(GRADIENT).reduction("mean").to_arrow().to_pylist(),
    "values": lambda job: [
        job.tensor(GRADIENT).value(step, worker=rank).tolist() for step in (3, 6) for rank in (0, 1)
    ],
    "operators": lambda job: job.operators().to_arrow().to_pylist(),
    "python": lambda job: job.python().to_arrow().to_pylist(),
    "rule": lambda job: [
        {**evaluation, "seconds": 0} for evaluation in job.check("VanishingGradient").documents()
    ],
}


Queries = Mapping[str, Callable[[Job], Any]]


def query_all(
    folder: Path, clock: FakeClock, queries: Queries = QUERIES
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the answers of all queries, and the losses that the job then reports.

    The answer of a query that raises a SondeError is the error; other exceptions are raised.
    """
    answers: dict[str, Any] = {}
    try:
        job = Job(open_backend(str(folder)), clock)
    except SondeError as error:
        return {"open": type(error).__name__}, [{"what": str(error), "reason": "damaged"}]
    for name, query in queries.items():
        try:
            answers[name] = json.dumps(query(job), sort_keys=True, default=str)
        except SondeError as error:
            answers[name] = f"{type(error).__name__}: {error}"
    return answers, job.summary["lost"]


def _without_damages(summary: Mapping[str, Any]) -> dict[str, Any]:
    lost = [loss for loss in summary["lost"] if loss["reason"] not in ("damaged", "missing")]
    return {**summary, "lost": lost}


def _delete(path: Path, _siblings: list[Path], _chance: random.Random) -> None:
    path.unlink()


def _empty(path: Path, _siblings: list[Path], _chance: random.Random) -> None:
    path.write_bytes(b"")


def _truncate(path: Path, _siblings: list[Path], chance: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: chance.randrange(len(data) or 1)])


def _flip(path: Path, _siblings: list[Path], chance: random.Random) -> None:
    data = bytearray(path.read_bytes() or b"\0")
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _flip_first(path: Path, _siblings: list[Path], chance: random.Random) -> None:
    data = bytearray(path.read_bytes() or b"\0")
    data[chance.randrange(min(64, len(data)))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _swap(path: Path, siblings: list[Path], chance: random.Random) -> None:
    """Swap with another file, often one of the same kind."""
    same_kind = [
        sibling
        for sibling in siblings
        if sibling.suffix == path.suffix and sibling.name == path.name
    ]
    sibling = chance.choice(same_kind if same_kind and chance.random() < 0.5 else siblings)
    content = path.read_bytes()
    path.write_bytes(sibling.read_bytes())
    sibling.write_bytes(content)


def _append(path: Path, _siblings: list[Path], chance: random.Random) -> None:
    path.write_bytes(path.read_bytes() + chance.randbytes(chance.randint(1, 200)))


def _garble(path: Path, _siblings: list[Path], chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(max(1, path.stat().st_size)))


DAMAGES: Mapping[str, Callable[[Path, list[Path], random.Random], None]] = {
    "delete": _delete,
    "empty": _empty,
    "truncate": _truncate,
    "flip a bit": _flip,
    "flip a bit near the beginning": _flip_first,
    "swap": _swap,
    "append": _append,
    "garble": _garble,
}


@dataclass
class Counts:
    """Counts of outcomes."""

    unharmed: int = 0
    reported: int = 0
    silent: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.unharmed + self.reported + len(self.silent) + len(self.crashes)


QueryJob = Callable[[Path, FakeClock], tuple[dict[str, Any], list[dict[str, Any]]]]


class Intact:
    """A recorded job whose copies are damaged."""

    def __init__(
        self,
        folder: Path,
        *,
        is_sealed: bool = False,
        record: Callable[[Path], FakeClock] | None = None,
        query: QueryJob = query_all,
    ) -> None:
        self.folder = folder
        self.query = query
        if record is None:
            self.clock = record_job(folder / "job", is_sealed=is_sealed)
        else:
            self.clock = record(folder / "job")
        self.clock.advance(3600)
        self.answers, lost = query(folder / "job", self.clock)
        assert not any(loss["reason"] in ("damaged", "missing") for loss in lost), lost
        self.files = sorted(
            str(path.relative_to(folder / "job"))
            for path in (folder / "job").rglob("*")
            if path.is_file()
        )

    def try_damage(self, file: str, kind: str, seed: int, counts: Counts) -> None:
        """Damage one file of a copy and run all queries on it."""
        copy = self.folder / "copy" / "job"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.folder / "job", copy)
        chance, path = random.Random(f"{seed} {file} {kind}"), copy / file
        siblings = [copy / sibling for sibling in self.files if sibling != file]
        DAMAGES[kind](path, siblings, chance)
        label = f"{kind}: {file} (seed {seed})"
        try:
            answers, lost = self.query(copy, self.clock)
        except Exception as error:  # noqa: BLE001 — crashes are counted
            counts.crashes.append(f"{label}: {type(error).__name__}: {error}")
            return
        is_same = answers == self.answers
        is_reported = any(loss["reason"] in ("damaged", "missing") for loss in lost)
        if is_same or is_reported:
            counts.unharmed += is_same
            counts.reported += not is_same
        else:
            changed = [what for what in self.answers if answers.get(what) != self.answers[what]]
            counts.silent.append(f"{label}: {', '.join(changed)}")


def cases(intact: Intact, seed: int) -> Iterator[tuple[str, str]]:
    """Yield every file with every kind of damage in shuffled order."""
    pairs = [(file, kind) for file in intact.files for kind in DAMAGES]
    random.Random(seed).shuffle(pairs)
    yield from pairs


def run(folder: Path, seed: int, *, max_cases: int = 10**9, seconds: float = 10**9) -> Counts:
    """Damage jobs, live and sealed in turn, until the maximum number or time is reached."""
    counts, until = Counts(), time.monotonic() + seconds
    jobs = [Intact(folder / name, is_sealed=name == "sealed") for name in ("live", "sealed")]
    turn = 0
    while counts.total < max_cases and time.monotonic() < until:
        for pair in zip(*(cases(job, seed + turn) for job in jobs), strict=False):
            for job, (file, kind) in zip(jobs, pair, strict=True):
                if counts.total < max_cases and time.monotonic() < until:
                    job.try_damage(file, kind, seed + turn, counts)
        turn += 1
    return counts


if __name__ == "__main__":
    chosen = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    with tempfile.TemporaryDirectory() as scratch:
        result = run(Path(scratch), chosen, seconds=float(sys.argv[1]))
    kinds = Counter(line.partition(":")[0] for line in (*result.silent, *result.crashes))
    counted = f"{result.total} damages, {result.unharmed} harmless, {result.reported} reported"
    counted += f", {len(result.silent)} silent, {len(result.crashes)} crashes {dict(kinds)}"
    lines = [f"seed {chosen}: {counted}", *result.silent, *result.crashes]
    sys.stdout.write("\n".join(lines) + "\n")
