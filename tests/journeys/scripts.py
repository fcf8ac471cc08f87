"""The training scripts, run alone and watched; no run is done twice in one session of tests."""

import fcntl
import json
import re
import socket
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from sonde.client.job import Job, open_job
from tests.journeys.sonde_cli import COMMAND, PYTHON, STORE, plain_environment
from tests.journeys.warm_python import WarmPython

FOLDER = Path(__file__).parent / "training"
_HELPERS = ("recorded_group", "shows_everything", "telling")
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in _HELPERS)

ALONE = "alone"
AS_USUAL = "as usual"
ALL_KEPT = "with everything kept"

_SONDE = (*COMMAND, "run", "--quiet", "--no-rules", "--no-report", "--name", "job")
WAYS = {
    ALONE: (),
    AS_USUAL: _SONDE,
    ALL_KEPT: (*_SONDE, "--save", "all:every=1,values,histogram"),
}

# a process takes seconds to load PyTorch: the others are watched in the harder way only
_ALSO_AS_USUAL = ("compiled_model", "ddp", "fsdp2_adamw", "loader_workers", "plain_loop")

# alone, these are new processes as they are watched, some for their tracebacks; the others are
# forks of one that is warm
_ALONE_ANEW = ("compiled_fullgraph", "plain_loop", "raises", "strict_settings")
_OF_TWO_RANKS = ("ddp", "fsdp2", "fsdp2_adamw", "sharded_kinds")
_LOADED = ("torch", "torch._dynamo")

TWO_RANKS = (PYTHON, str(Path(__file__).parent / "two_ranks.py"))


@dataclass(frozen=True)
class Ended:
    """What a script left behind."""

    code: int
    output: list[str]
    remarks: list[str]  # on stderr: in any order, without numbers, without frames of libraries

    def told(self, name: str) -> list[float]:
        """The numbers that the script printed under a name."""
        lines = (line.rpartition(" ") for line in self.output)
        return [float.fromhex(value) for message, _, value in lines if message == name]


class Scripts:
    """Runs scripts in a folder that all processes of a session of tests share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._warm = WarmPython(_LOADED, _environment())

    def run(self, name: str) -> dict[str, Ended]:
        """How a script ends alone and watched, all at the same time."""
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "ended.json").open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # another process may run it just now
            file.seek(0)
            text = file.read()
            if not text:
                text = json.dumps({way: asdict(ended) for way, ended in self._ends(name).items()})
                file.write(text)
        return {way: Ended(**ended) for way, ended in json.loads(text).items()}

    def _ends(self, name: str) -> dict[str, Ended]:
        ways = [way for way in WAYS if way != AS_USUAL or name in _ALSO_AS_USUAL]
        with ThreadPoolExecutor() as pool:
            runs = {way: pool.submit(self._end, name, way) for way in ways}
        return {way: run.result() for way, run in runs.items()}

    def _end(self, name: str, way: str) -> Ended:
        folder = self.folder(name, way)
        if way != ALONE or name in _ALONE_ANEW:
            return end_of(folder, (*WAYS[way], *command(name)))
        folder.mkdir(parents=True)
        return _joined([_ended(done) for done in self._forks(FOLDER / f"{name}.py", folder)])

    def _forks(self, script: Path, folder: Path) -> list["subprocess.CompletedProcess[str]"]:
        """A script alone, as often and in as many processes as its command starts it."""
        if script.stem == "checkpoint_resume":
            return [self._warm.run(script, folder) for _ in range(2)]
        if script.stem not in _OF_TWO_RANKS:
            return [self._warm.run(script, folder)]
        with socket.create_server(("127.0.0.1", 0)) as free:
            meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
        ranks = [{"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", **meeting} for rank in "01"]
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda rank: self._warm.run(script, folder, rank), ranks))

    def watched(self, name: str) -> Ended:
        """How it ends when everything is kept."""
        return self.run(name)[ALL_KEPT]

    def job(self, name: str) -> Job:
        """The job that it has become then."""
        self.run(name)
        return open_job(str(self.folder(name) / STORE / "job"))

    def folder(self, name: str, way: str = ALL_KEPT) -> Path:
        """Where a script runs."""
        return self._folder / name / way


def command(name: str) -> tuple[str, ...]:
    """How a script is started."""
    script = str(FOLDER / f"{name}.py")
    if name in _OF_TWO_RANKS:
        return (*TWO_RANKS, script)
    if name == "checkpoint_resume":
        return ("sh", "-c", f"{PYTHON} {script} && {PYTHON} {script}")
    return (PYTHON, script)


def end_of(folder: Path, words: Sequence[str]) -> Ended:
    """Runs a command in a new folder, to its end."""
    folder.mkdir(parents=True)
    done = subprocess.run(
        words,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    return _ended(done)


def _environment() -> dict[str, str]:
    return {**plain_environment(), "PYTHONHASHSEED": "0"}


def _ended(done: "subprocess.CompletedProcess[str]") -> Ended:
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Ended(code, done.stdout.splitlines(), _remarks(done.stderr))


def _joined(pieces: Sequence[Ended]) -> Ended:
    """What several processes have left behind as one."""
    output = [line for piece in pieces for line in piece.output]
    remarks = sorted(line for piece in pieces for line in piece.remarks)
    return Ended(max(piece.code for piece in pieces), output, remarks)


def _remarks(text: str) -> list[str]:
    # a module with a hook is called by another path inside torch
    local = re.sub(r'^  File "[^"]*/site-packages/.*\n(    .*\n)*', "", text, flags=re.MULTILINE)
    return sorted(re.sub(r"\d+", "0", line) for line in local.splitlines())
