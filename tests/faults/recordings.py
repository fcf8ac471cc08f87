"""Recordings of programs, reused until the program or the recorder changes."""

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

from tests.faults.label import split_label
from tests.faults.program import FOLDER, Program, Variant
from tests.journeys.sonde_cli import plain_environment

ROOT = FOLDER.parent.parent
CACHE = ROOT / ".cache" / "faults"
PYTHON = (sys.executable,)
_RECORDERS = (ROOT / "src" / "sonde" / "agent", ROOT / "src" / "sonde" / "hook")
_MAX_SECONDS = 180
_TIMED_OUT = 124  # the exit code of `timeout`

# One core each: programs run in parallel, so more threads would only slow them down.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
_TORCHRUN = ("-m", "torch.distributed.run", "--standalone")


@dataclass(frozen=True)
class Run:
    """One training of one program."""

    program: Program
    variant: Variant
    seed: int

    def __str__(self) -> str:
        return f"{self.program.name} {self.variant.value} {self.seed}"


@dataclass(frozen=True)
class Recording:
    """The recorded job of a run, and how it ended."""

    job: str
    code: int
    seconds: float


def record(
    run: Run,
    cache: Path = CACHE,
    *,
    accept_stale: bool = False,
    python: Sequence[str] = PYTHON,
) -> Recording:
    """Return an existing or new recording of a run.

    Args:
        run: The run to record.
        cache: The folder that holds recordings.
        accept_stale: Whether a recording of an older recorder or program may be returned.
        python: The command to start Python with.
    """
    program_cache = cache / run.program.name
    prefix = f"{run.variant.value}-{run.seed}-"
    folder = program_cache / f"{prefix}{_digest(run.program)}"
    stale = [path for path in program_cache.glob(f"{prefix}*") if path != folder]
    for path in [folder, *(stale if accept_stale else ())]:
        if (path / "ended.json").exists():
            return Recording(**json.loads((path / "ended.json").read_text()))
    for path in stale:
        shutil.rmtree(path, ignore_errors=True)
    program_cache.mkdir(parents=True, exist_ok=True)
    unfinished = Path(mkdtemp(dir=program_cache))
    start = perf_counter()
    code = _train(run, unfinished, python)
    if code == _TIMED_OUT:  # usually a busy machine: retried next time
        return Recording(str(unfinished / "job"), code, perf_counter() - start)
    recording = Recording(str(folder / "job"), code, perf_counter() - start)
    (unfinished / "ended.json").write_text(json.dumps(asdict(recording)))
    try:
        unfinished.rename(folder)
    except OSError:  # another process has made the same recording in the meantime
        shutil.rmtree(unfinished)
    return recording


def _train(run: Run, folder: Path, python: Sequence[str]) -> int:
    label = run.program.label
    launcher = (*_TORCHRUN, f"--nproc-per-node={label.workers}") if label.workers > 1 else ()
    script = (str(run.program.path), run.variant.value, str(run.seed))
    # Rules run afterwards; their data is recorded anyway.
    options = ("--quiet", "--no-rules", "--no-report", "--name", "job", "--store", str(folder))
    sonde_run = (*PYTHON, "-m", "sonde", "run", *options)
    on_disk = _on_disk(label.disk_mib, folder) if label.disk_mib else ()
    competing = label.competing_processes if run.variant is Variant.FAULTY else 0
    command = (*on_disk, *sonde_run, "--", *python, *launcher, *script)
    with (folder / "output.txt").open("w") as output, _busy_cores(competing):
        return _run(command, folder, output)


def _run(command: Sequence[str], folder: Path, output: TextIO) -> int:
    """Run a command to its end; a timeout is an error of this run only."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**plain_environment(), **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=_MAX_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return _TIMED_OUT
    return done.returncode


@contextmanager
def _busy_cores(count: int) -> Iterator[None]:
    """Keep cores busy with processes that do not belong to the job."""
    endless = (sys.executable, "-c", "import time\ntime.sleep(5)\nwhile True:\n    pass")
    processes = [subprocess.Popen(endless) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _on_disk(mib: int, folder: Path) -> tuple[str, ...]:
    """Return a command prefix that runs the rest on a small, temporary disk."""
    disk = folder / "disk"
    disk.mkdir()
    script = f'mount -t tmpfs -o size={mib}m none "$0" && cd "$0" && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", script, str(disk))


def _digest(program: Program) -> str:
    """Hash everything that a recording depends on, which excludes the label."""
    _, script = split_label(program.path.read_text())
    digest = hashlib.sha256(script.encode())
    for path in sorted(path for folder in _RECORDERS for path in folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
