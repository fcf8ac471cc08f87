"""Run the real command line in its own folder and read what it recorded."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from sonde.agent.process_tree import names_in
from sonde.client.job import open_job
from sonde.errors import SondeError
from sonde.read.system import SystemReader
from sonde.store.backends import open_backend
from tests.fakes.eventually import eventually

COMMAND = (sys.executable, "-m", "sonde")
PYTHON = sys.executable
STORE = "sonde-jobs"

# variables that a scheduler or a launcher around the tests may have set
_REMOVED_PREFIXES = (
    "SONDE_",
    "SLURM_",
    "OMPI_",
    "PET_",
    "SKYPILOT_",
    "LEPTON_",
    "SM_",
    "TORCHELASTIC_",
    "MPI_",
    "PYTHONPATH",
)

# A command that writes the signals it receives to a file and exits once a file `end` exists.
REPORTER = """
import pathlib, signal, sys, time
seen = open("seen", "a", buffering=1)
def tell(number, frame):
    seen.write(signal.Signals(number).name + "\\n")
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), tell)
pathlib.Path("ready").touch()
while not pathlib.Path("end").exists():
    time.sleep(0.02)
time.sleep(0.3)  # wait for pending signals
sys.exit(7)
"""


def plain_environment() -> dict[str, str]:
    """Return the environment without variables that affect `sonde`."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(_REMOVED_PREFIXES)
    }


class Sonde:
    """Runs `sonde` in a folder and ends all processes it started there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def run(self, *words: str, **options: Any) -> "subprocess.CompletedProcess[bytes]":
        """Run a command to its end."""
        options = self._options(options, wait=True)
        return subprocess.run([*COMMAND, *_without_rules(words)], check=False, **options)

    def start(self, *words: str, **options: Any) -> "subprocess.Popen[bytes]":
        """Start a command in its own session, so that signals to its group stay inside."""
        options.setdefault("start_new_session", True)
        options.setdefault("stderr", subprocess.DEVNULL)
        options = self._options(options, wait=False)
        process = subprocess.Popen([*COMMAND, *_without_rules(words)], **options)
        self._started.append(process)
        return process

    def start_reporter(self, *signals: str, name: str = "job") -> "subprocess.Popen[bytes]":
        """Start a job that reports these signals; return once it is ready."""
        launcher = self.start("run", "--name", name, PYTHON, "-c", REPORTER, *signals)
        assert eventually((self.folder / "ready").exists)
        return launcher

    def received_signals(self) -> list[str]:
        """Return the signals that the reporter has received so far."""
        path = self.folder / "seen"
        return path.read_text().split() if path.exists() else []

    def has_received(self, count: int) -> bool:
        """Return whether this many signals arrive in time."""
        return eventually(lambda: len(self.received_signals()) >= count)

    def job_folder(self, job: str) -> Path:
        return self.folder / STORE / job

    def status(self, job: str = "job") -> dict[str, Any]:
        """Return what `sonde status --json` prints."""
        return open_job(str(self.job_folder(job))).summary

    def state(self, job: str = "job") -> str:
        """Return the state of a job, or `none` before it exists."""
        with suppress(SondeError):
            return str(self.status(job)["state"])
        return "none"

    def runs(self, job: str = "job") -> bool:
        return self.state(job) == "running"

    def command_pid(self, job: str = "job") -> int:
        assert eventually(lambda: self.runs(job))
        return int(self.status(job)["runs"][-1]["pid"])

    def samples(self, metric: str, job: str = "job") -> "tuple[list[float], list[float]]":
        """Return the times, in seconds since the epoch, and values of a metric."""
        backend = open_backend(str(self.job_folder(job)))
        nodes = backend.folders("nodes")
        if not nodes:
            return [], []
        reader = SystemReader(backend, nodes[0])
        times, values = reader.samples(reader.series(metric))
        if not len(values):
            return [], []
        is_known = ~np.isnan(values[0])
        return (times[is_known] / 1e9).tolist(), values[0][is_known].tolist()

    def close(self) -> None:
        """End all remaining processes in this folder."""
        for process in self._started:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self) -> list[int]:
        """Return all processes in this folder: launchers, commands and their children."""
        return [pid for pid in _pids() if _folder_of(pid) == str(self.folder)]

    def _options(self, options: dict[str, Any], *, wait: bool) -> dict[str, Any]:
        extra: Mapping[str, str] = options.pop("env", {})
        options["env"] = {**plain_environment(), **extra}
        options.setdefault("cwd", self.folder)
        if wait:
            options.setdefault("timeout", 150)
            if "stdout" not in options and "stderr" not in options:
                options.setdefault("capture_output", True)
            if "input" not in options:
                options.setdefault("stdin", subprocess.DEVNULL)
        return options


_RULE_OPTIONS = {"--rules", "--set", "--no-rules", "--fail-on", "--action"}


def _without_rules(words: Sequence[str]) -> list[str]:
    """Disable rules and report, a second each, unless the command has rule options."""
    if words[0] != "run" or _RULE_OPTIONS & {*words}:
        return list(words)
    return ["run", "--no-rules", "--no-report", *words[1:]]


def is_alive(pid: int) -> bool:
    """Return whether a process is running and not a zombie."""
    return process_state(pid) not in ("", "Z", "X")


def process_state(pid: int) -> str:
    """Return R, S, T, Z, …, or an empty text if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def _pids() -> Iterator[int]:
    return (int(name) for name in names_in("/proc") if name.isdigit())


def _folder_of(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""
