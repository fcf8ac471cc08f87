"""Probe: stores with untrusted jobs, each hostile in one or several ways.

The dashboard and the command line must list all jobs within limits of time and memory. Every
query of a hostile job must be answered or refused, and damage must be reported.
"""

import io
import json
import random
import resource
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from time import monotonic

from sonde.cli._main import run_command_line
from sonde.errors import DamagedError
from sonde.web.catalog import Catalog
from tests.fakes.clock import FakeClock
from tests.torture.damage import query_all
from tests.torture.hostile_stores import GOOD, HARMLESS, HOSTILE, make_store
from tests.torture.probe import Outcome

# Raised by a change if an earlier change has made a document unreadable.
_UNREADABLE = (
    *(OSError, ValueError, StopIteration, LookupError, AttributeError),
    *(RecursionError, DamagedError),
)

_MAX_MEMORY = 4 << 30
_SLOW_SECONDS = 60.0
_SHORT_RUN_JOBS = 12  # jobs in the store if there is little time


@contextmanager
def limited_memory() -> Iterator[None]:
    """Limit memory to a few gigabytes more than this process uses."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _MAX_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


class HostileStores:
    """Every kind of hostile job once, then jobs that are hostile in several ways."""

    name = "hostile-stores"

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per list and per queried job."""
        numbers = random.Random(seed)
        names = sorted(HOSTILE)
        numbers.shuffle(names)
        if deadline - monotonic() < _SLOW_SECONDS:
            names = names[:_SHORT_RUN_JOBS]
        folder = Path(tempfile.mkdtemp(prefix="sonde-torture-"))
        try:
            make_store(folder, names)
            yield from _lists(folder, {GOOD, *names}, seed)
            for name in names:
                if monotonic() > deadline:
                    return
                yield _query(folder / name, name, name in HARMLESS, seed)
                shutil.rmtree(folder / name, ignore_errors=True)
            while monotonic() < deadline:
                yield _several(folder, numbers.randrange(1 << 32))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _lists(folder: Path, expected: set[str], seed: int) -> Iterator[Outcome]:
    with limited_memory():
        start = monotonic()
        try:
            catalog = Catalog(str(folder), FakeClock())
            rows = {row["name"]: row for row in catalog.rows(catalog.find("", "", "name"))}
        except Exception as error:  # noqa: BLE001 - whatever leaves the list is a crash
            yield Outcome("the dashboard's list", seed, crash=f"{type(error).__name__}: {error}")
            return
        yield _listed("the dashboard's list", set(rows), expected, start, seed)
        start, output = monotonic(), io.StringIO()
        with redirect_stdout(output):
            code = run_command_line(["jobs", "--store", str(folder), "--json"])
        names = {job["job"] for job in json.loads(output.getvalue())} if code == 0 else set()
        yield _listed("sonde jobs", names, expected, start, seed)


def _listed(case: str, names: set[str], expected: set[str], start: float, seed: int) -> Outcome:
    seconds = monotonic() - start
    crash = f"took {seconds:.0f} s" if seconds > _SLOW_SECONDS else None
    missing = sorted(expected - names)
    return Outcome(case, seed, crash, silent_loss=f"not listed: {missing}" if missing else None)


def _several(folder: Path, seed: int) -> Outcome:
    """Query a job that is hostile in two or three ways, skipping those that cannot be combined.

    Damage need not be reported: one change may undo another.
    """
    numbers = random.Random(seed)
    names = numbers.sample(sorted(HOSTILE), k=numbers.randrange(2, 4))
    names.sort(
        key=lambda name: "-as-" in name
    )  # pipes and devices last, since they cannot be edited
    job = folder / "several"
    shutil.copytree(folder / GOOD, job)
    try:
        for name in names:
            with suppress(*_UNREADABLE):
                HOSTILE[name](job)
        return _query(job, "+".join(names), None, seed)
    finally:
        shutil.rmtree(job, ignore_errors=True)


def _query(job: Path, case: str, is_harmless: bool | None, seed: int) -> Outcome:
    clock, start = FakeClock(), monotonic()
    clock.advance(3600)
    try:
        with limited_memory():
            _, lost = query_all(job, clock)
    except (Exception, MemoryError) as error:  # noqa: BLE001 - counted, whatever it is
        return Outcome(case, seed, crash=f"{type(error).__name__}: {str(error)[:300]}")
    if monotonic() - start > _SLOW_SECONDS:
        return Outcome(case, seed, crash=f"took {monotonic() - start:.0f} s")
    is_reported = any(loss["reason"] in ("damaged", "missing") for loss in lost)
    if is_harmless is None or is_reported != is_harmless:
        return Outcome(case, seed)
    if is_harmless:
        return Outcome(case, seed, untrue_state=f"reported as lost: {lost}")
    return Outcome(case, seed, silent_loss="no damage is reported")


PROBES = (HostileStores(),)
