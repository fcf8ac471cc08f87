"""Run training scripts with and without Sonde, each once per test session."""

import fcntl
import json
import re
import shlex
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
_OF_OTHER_TESTS = ("recorded_group", "visible_effects", "reporting", "hook_of_old_client")
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in _OF_OTHER_TESTS)

ALONE = "alone"
BY_DEFAULT = "by default"
EVERYTHING_SAVED = "everything saved"

_SONDE = (*COMMAND, "run", "--quiet", "--no-rules", "--no-report", "--name", "job")
WAYS = {
    ALONE: (),
    BY_DEFAULT: _SONDE,
    EVERYTHING_SAVED: (*_SONDE, "--save", "all:every=1,values,histogram"),
}

# new processes, which load PyTorch for seconds; other scripts only run with everything saved
_ALSO_BY_DEFAULT = ("compiled_model", "ddp", "fsdp2_adamw", "loader_workers", "plain_loop")

# these run in new processes, some for their tracebacks; the rest are forks of a process with
# PyTorch loaded
_IN_NEW_PROCESS = ("compiled_fullgraph", "plain_loop", "raises", "strict_settings")
_WITH_TWO_RANKS = ("ddp", "fsdp2", "fsdp2_adamw", "sharded_kinds")
ENVIRONMENT = {**plain_environment(), "PYTHONHASHSEED": "0"}
TWO_RANKS = (PYTHON, str(Path(__file__).parent / "two_ranks.py"))


@dataclass(frozen=True)
class RunResult:
    """The exit code and output of a script."""

    code: int
    output: list[str]
    stderr_lines: list[str]  # sorted, without digits and frames of libraries

    def printed(self, name: str) -> list[float]:
        """Return the numbers that the script printed under a name."""
        lines = (line.rpartition(" ") for line in self.output)
        return [float.fromhex(value) for message, _, value in lines if message == name]


class Scripts:
    """Runs scripts in a folder shared by all processes of a test session."""

    def __init__(self, folder: Path, warm: WarmPython) -> None:
        self._folder = folder
        self._warm = warm

    def run(self, name: str) -> dict[str, RunResult]:
        """Run a script with and without Sonde in parallel and return how it ended."""
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "ended.json").open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # another process may be running it
            file.seek(0)
            text = file.read()
            if not text:
                text = json.dumps(
                    {way: asdict(ended) for way, ended in self._run_all_ways(name).items()}
                )
                file.write(text)
        return {way: RunResult(**ended) for way, ended in json.loads(text).items()}

    def _run_all_ways(self, name: str) -> dict[str, RunResult]:
        ways = [way for way in WAYS if way != BY_DEFAULT or name in _ALSO_BY_DEFAULT]
        with ThreadPoolExecutor() as pool:
            runs = {way: pool.submit(self._run_way, name, way) for way in ways}
        return {way: run.result() for way, run in runs.items()}

    def _run_way(self, name: str, way: str) -> RunResult:
        folder = self.folder(name, way)
        if way == BY_DEFAULT or name in _IN_NEW_PROCESS:
            return run_to_end(folder, (*WAYS[way], *command(name)))
        if way == EVERYTHING_SAVED:
            return run_to_end(folder, (*WAYS[way], *command(name, self._warm.command())))
        folder.mkdir(parents=True)
        return _merge(
            [_result_of(done) for done in self._run_in_forks(FOLDER / f"{name}.py", folder)]
        )

    def _run_in_forks(self, script: Path, folder: Path) -> list["subprocess.CompletedProcess[str]"]:
        """Run a script without Sonde, in as many processes as its command starts."""
        if script.stem == "checkpoint_resume":
            return [self._warm.run(script, folder) for _ in range(2)]
        if script.stem not in _WITH_TWO_RANKS:
            return [self._warm.run(script, folder)]
        with socket.create_server(("127.0.0.1", 0)) as free:
            meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
        ranks = [{"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", **meeting} for rank in "01"]
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda rank: self._warm.run(script, folder, rank), ranks))

    def recorded(self, name: str) -> RunResult:
        """Return how a script ended with everything saved."""
        return self.run(name)[EVERYTHING_SAVED]

    def job(self, name: str) -> Job:
        """Return the job recorded with everything saved."""
        self.run(name)
        return open_job(str(self.folder(name) / STORE / "job"))

    def folder(self, name: str, way: str = EVERYTHING_SAVED) -> Path:
        """Return the folder in which a script runs."""
        return self._folder / name / way


def command(name: str, python: tuple[str, ...] = (PYTHON,)) -> tuple[str, ...]:
    """Return the command that starts a script with a command that acts as Python."""
    words = (*python, str(FOLDER / f"{name}.py"))
    if name in _WITH_TWO_RANKS:
        return (*TWO_RANKS, *words)
    if name == "checkpoint_resume":
        return ("sh", "-c", f"{shlex.join(words)} && {shlex.join(words)}")
    return words


def run_to_end(folder: Path, words: Sequence[str]) -> RunResult:
    """Run a command in a new folder to its end."""
    folder.mkdir(parents=True)
    done = subprocess.run(
        words,
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    return _result_of(done)


def _result_of(done: "subprocess.CompletedProcess[str]") -> RunResult:
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return RunResult(code, done.stdout.splitlines(), _stderr_lines(done.stderr))


def _merge(pieces: Sequence[RunResult]) -> RunResult:
    """Merge the output of several processes."""
    output = [line for piece in pieces for line in piece.output]
    stderr_lines = sorted(line for piece in pieces for line in piece.stderr_lines)
    return RunResult(max(piece.code for piece in pieces), output, stderr_lines)


def _stderr_lines(text: str) -> list[str]:
    # PyTorch calls modules with hooks through other frames
    local = re.sub(r'^  File "[^"]*/site-packages/.*\n(    .*\n)*', "", text, flags=re.MULTILINE)
    return sorted(re.sub(r"\d+", "0", line) for line in local.splitlines())
