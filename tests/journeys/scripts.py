"""The training scripts, run alone and watched; no run is done twice in one session of tests."""

import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sonde.client.job import Job, open_job
from tests.journeys.sonde_cli import COMMAND, PYTHON, STORE, plain_environment

FOLDER = Path(__file__).parent / "training"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "telling")

ALONE = "alone"
AS_USUAL = "as usual"
ALL_KEPT = "with everything kept"

_SONDE = (*COMMAND, "run", "--quiet", "--name", "job")
WAYS = {
    ALONE: (),
    AS_USUAL: _SONDE,
    ALL_KEPT: (*_SONDE, "--save", "all:every=1,values,histogram"),
}

_TORCHRUN = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


@dataclass(frozen=True)
class Ended:
    """What a script left behind."""

    code: int
    output: list[str]
    remarks: list[str]  # on stderr: in any order, without numbers, without frames of libraries

    def told(self, name: str) -> list[float]:
        """The numbers that the script printed under a name."""
        lines = (line.rpartition(" ") for line in self.output)
        return [float.fromhex(value) for said, _, value in lines if said == name]


class Scripts:
    """Runs scripts in a folder that outlives a test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ended: dict[tuple[str, str], Ended] = {}

    def run(self, name: str, *ways: str) -> list[Ended]:
        """How a script ends in these ways, all at the same time."""
        missing = [way for way in ways if (name, way) not in self._ended]
        with ThreadPoolExecutor() as pool:
            runs = {
                way: pool.submit(end_of, self.folder(name, way), (*WAYS[way], *command(name)))
                for way in missing
            }
        self._ended |= {(name, way): run.result() for way, run in runs.items()}
        return [self._ended[name, way] for way in ways]

    def job(self, name: str, way: str = ALL_KEPT) -> Job:
        """The job that a watched script has become."""
        self.run(name, way)
        return open_job(str(self.folder(name, way) / STORE / "job"))

    def folder(self, name: str, way: str) -> Path:
        """Where a script runs."""
        return self._folder / name / way


def command(name: str) -> tuple[str, ...]:
    """How a script is started."""
    script = str(FOLDER / f"{name}.py")
    if name in ("ddp", "fsdp2"):
        return (*_TORCHRUN, script)
    if name == "checkpoint_resume":
        return ("sh", "-c", f"{PYTHON} {script} && {PYTHON} {script}")
    return (PYTHON, script)


def end_of(folder: Path, words: Sequence[str]) -> Ended:
    """Runs a command in a new folder, to its end."""
    folder.mkdir(parents=True)
    done = subprocess.run(
        words,
        cwd=folder,
        env={**plain_environment(), "PYTHONHASHSEED": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Ended(code, done.stdout.splitlines(), _remarks(done.stderr))


def _remarks(text: str) -> list[str]:
    # a module with a hook is called by another path inside torch
    own = re.sub(r'^  File "[^"]*/site-packages/.*\n(    .*\n)*', "", text, flags=re.MULTILINE)
    return sorted(re.sub(r"\d+", "0", line) for line in own.splitlines())
