"""Runs of the programs, watched as any job is; none is done twice while nothing has changed."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import mkdtemp
from time import perf_counter
from typing import TextIO

from tests.faults.program import FOLDER, Program, Variant
from tests.journeys.sonde_cli import plain_environment

ROOT = FOLDER.parent.parent
CACHE = ROOT / ".cache" / "faults"
_RECORDER = ROOT / "src" / "sonde" / "collect"
_MOST_SECONDS = 180
_TIMED_OUT = 124  # as `timeout` says it

# a core each: programs run beside each other, and a thread more would only be in their way
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
_TORCHRUN = ("-m", "torch.distributed.run", "--standalone")


@dataclass(frozen=True)
class Run:
    """One program as it was trained once."""

    program: Program
    variant: Variant
    seed: int

    def __str__(self) -> str:
        return f"{self.program.name} {self.variant.value} {self.seed}"


@dataclass(frozen=True)
class Recording:
    """Where a run is recorded, and how it ended."""

    job: str
    code: int
    seconds: float


def record(run: Run, cache: Path = CACHE, *, may_be_old: bool = False) -> Recording:
    """The recording of a run: made now, or the one that is there.

    Args:
        run: Which.
        cache: Where recordings are kept.
        may_be_old: Whether one will do that was made before the recorder changed.
    """
    kept = cache / run.program.name
    prefix = f"{run.variant.value}-{run.seed}-"
    folder = kept / f"{prefix}{_digest(run.program)}"
    others = [one for one in kept.glob(f"{prefix}*") if one != folder]
    for one in [folder, *(others if may_be_old else ())]:
        if (one / "ended.json").exists():
            return Recording(**json.loads((one / "ended.json").read_text()))
    for one in others:
        shutil.rmtree(one, ignore_errors=True)
    kept.mkdir(parents=True, exist_ok=True)
    under_way = Path(mkdtemp(dir=kept))
    began = perf_counter()
    code = _train(run, under_way)
    if code == _TIMED_OUT:  # a busy machine, mostly: it is tried again next time
        return Recording(str(under_way / "job"), code, perf_counter() - began)
    recording = Recording(str(folder / "job"), code, perf_counter() - began)
    (under_way / "ended.json").write_text(json.dumps(asdict(recording)))
    try:
        under_way.rename(folder)
    except OSError:  # somebody else has recorded the same meanwhile: that will do
        shutil.rmtree(under_way)
    return recording


def _train(run: Run, folder: Path) -> int:
    workers = run.program.workers
    launcher = (*_TORCHRUN, f"--nproc-per-node={workers}") if workers > 1 else ()
    script = (str(run.program.path), run.variant.value, str(run.seed))
    # rules are asked afterwards: what they need is recorded all the same
    options = ("--quiet", "--no-rules", "--no-report", "--name", "job", "--store", str(folder))
    watched = (sys.executable, "-m", "sonde", "run", *options)
    on_disk = _on_disk(run.program.disk_mib, folder) if run.program.disk_mib else ()
    neighbors = run.program.neighbors if run.variant is Variant.FAULTY else 0
    command = (*on_disk, *watched, "--", sys.executable, *launcher, *script)
    with (folder / "output.txt").open("w") as output, _computing(neighbors):
        return _run(command, folder, output)


def _run(command: Sequence[str], folder: Path, output: TextIO) -> int:
    """Runs a command to its end; one that takes too long is an error of that run alone."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**plain_environment(), **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=_MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return _TIMED_OUT
    return done.returncode


@contextmanager
def _computing(count: int) -> Iterator[None]:
    """Processes that are no part of the job and compute meanwhile, each on one core."""
    endless = (sys.executable, "-c", "import time\ntime.sleep(5)\nwhile True:\n    pass")
    neighbors = [subprocess.Popen(endless) for _ in range(count)]
    try:
        yield
    finally:
        for neighbor in neighbors:
            neighbor.kill()
            neighbor.wait()


def _on_disk(mib: int, folder: Path) -> tuple[str, ...]:
    """Runs a command on a small disk, which nobody else sees and which is gone with it."""
    disk = folder / "disk"
    disk.mkdir()
    mounted = f'mount -t tmpfs -o size={mib}m none "$0" && cd "$0" && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", mounted, str(disk))


def _digest(program: Program) -> str:
    """Of all that a recording depends on."""
    digest = hashlib.sha256(program.path.read_bytes())
    for path in sorted(_RECORDER.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
