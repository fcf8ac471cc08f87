"""Probe: a process of a running job is killed at a random moment.

Afterwards, the job must be readable and have the correct state. All steps must be stored that were
complete at the start of the last flush. A worker flushes every 2 s, and a PyTorch loop may buffer
events for up to one more second. Delays on a busy machine are estimated from delays in the
script itself.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep

from sonde.client.job import Job, open_job
from sonde.errors import SondeError
from sonde.store.backends.local import Local
from tests.journeys.sonde_cli import plain_environment
from tests.torture.probe import Outcome

_START_SECONDS = 60.0
_END_SECONDS = 30.0
_SLACK_SECONDS = 0.5  # to write a flush, in addition to scheduling delays
_BUFFER_SECONDS = 1.0  # that a PyTorch loop may buffer its events
_LATENESS_SECONDS = 6.0  # before the kill, in which delays of the script are measured
_PLAIN, _PYTORCH = "plain", "PyTorch"
_SCRIPTS = {
    _PYTORCH: """
import time, torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with open("steps", "a", buffering=1) as steps:
    while True:
        optimizer.zero_grad()
        model(torch.ones(8, 4)).square().mean().backward()
        optimizer.step()
        steps.write(f"{time.monotonic()}\\n")
        time.sleep(0.01)
""",
    _PLAIN: """
import time
import sonde
with open("steps", "a", buffering=1) as steps:
    for number in range(100_000):
        sonde.log(loss=1.0 / (1 + number))
        sonde.step()
        steps.write(f"{time.monotonic()}\\n")
        time.sleep(0.01)
""",
}


@dataclass(frozen=True)
class Kill:
    """Which process is killed, with which signal, and the expected state of the job."""

    name: str
    signal: signal.Signals
    is_launcher: bool
    is_command: bool
    state: str
    code: int | None = None  # of the launcher


KILLS = (
    Kill("command, SIGKILL", signal.SIGKILL, False, True, "failed", 128 + signal.SIGKILL),
    Kill("command, SIGSEGV", signal.SIGSEGV, False, True, "failed", 128 + signal.SIGSEGV),
    Kill("command, SIGTERM", signal.SIGTERM, False, True, "failed", 128 + signal.SIGTERM),
    Kill("launcher, SIGKILL", signal.SIGKILL, True, False, "lost"),
    Kill("both, SIGKILL", signal.SIGKILL, True, True, "lost"),
)


class Kills:
    """Kills one process per job, one job after another."""

    name = "kills"

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per job."""
        numbers = random.Random(seed)
        while monotonic() < deadline:
            script = numbers.choice((_PLAIN, _PLAIN, _PYTORCH))
            yield run_and_kill(script, numbers.choice(KILLS), numbers.uniform(0.0, 8.0), seed)


def run_and_kill(script: str, kill: Kill, after_seconds: float, seed: int) -> Outcome:
    """Run a job, kill it a given time after its first step, and compare."""
    case = f"{script}: {kill.name} {after_seconds:.2f} s after the first step"
    folder = Path(tempfile.mkdtemp(prefix="sonde-torture-"))
    (folder / "train.py").write_text(_SCRIPTS[script])
    words = ("run", "--no-rules", "--no-report", "--quiet", "--store", "store", "--name", "job")
    launcher = subprocess.Popen(
        [sys.executable, "-m", "sonde", *words, sys.executable, "train.py"],
        cwd=folder,
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        command = _command_pid(folder)
        sleep(after_seconds)
        killed = monotonic()
        for pid, is_killed in ((launcher.pid, kill.is_launcher), (command, kill.is_command)):
            if is_killed:
                os.kill(pid, kill.signal)
        code = launcher.wait(_END_SECONDS)
        return _compare(kill, case, seed, folder, killed, code)
    except (subprocess.TimeoutExpired, TimeoutError) as error:
        return Outcome(case, seed, crash=f"{type(error).__name__}: {error}")
    finally:
        _end(launcher, folder)


def _command_pid(folder: Path) -> int:
    """Return the process ID of the script after its first step."""
    deadline = monotonic() + _START_SECONDS
    while monotonic() < deadline:
        with suppress(SondeError, OSError, ValueError):
            if (folder / "steps").read_text():
                return int(open_job(str(folder / "store" / "job")).summary["runs"][-1]["pid"])
        sleep(0.02)
    raise TimeoutError("the script finished no step")


def _compare(kill: Kill, case: str, seed: int, folder: Path, killed: float, code: int) -> Outcome:
    if kill.code is not None and code != kill.code:
        return Outcome(case, seed, crash=f"exit code {code} instead of {kill.code}")
    try:
        job = open_job(str(folder / "store" / "job"))
        state, recorded = str(job.summary["state"]), len(job.steps().to_arrow())
    except Exception as error:  # noqa: BLE001 - whatever reading raises is a crash
        return Outcome(case, seed, crash=f"{type(error).__name__}: {error}")
    times = [float(line) for line in (folder / "steps").read_text().splitlines()]
    finished = sum(time <= killed for time in times)
    safe = sum(time <= killed - _unflushed_seconds(times, killed, case) for time in times)
    return Outcome(
        case,
        seed,
        silent_loss=_silent_loss(job, recorded, safe),
        untrue_state=_wrong_state(kill, state, recorded, finished, len(times)),
    )


def _unflushed_seconds(times: list[float], killed: float, case: str) -> float:
    """Return for how long before the kill steps may not have been flushed."""
    recent = [time for time in times if killed - _LATENESS_SECONDS <= time <= killed] + [killed]
    late = max((after - before for before, after in pairwise(recent)), default=0.0)
    buffered = _BUFFER_SECONDS if case.startswith(_PYTORCH) else 0.0
    return Local.flush_seconds + buffered + _SLACK_SECONDS + 2 * late


def _silent_loss(job: Job, recorded: int, safe: int) -> str | None:
    if recorded >= safe or job.summary["lost"]:
        return None
    return f"{recorded} steps recorded, {safe} finished before the last flush"


def _wrong_state(kill: Kill, state: str, recorded: int, finished: int, total: int) -> str | None:
    if state != kill.state:
        return f"state {state} instead of {kill.state}"
    limit = (
        finished if kill.is_command else total
    ) + 1  # a step may end before its line is written
    return f"{recorded} steps recorded, {limit} finished" if recorded > limit else None


def _end(launcher: "subprocess.Popen[bytes]", folder: Path) -> None:
    """End all remaining processes of a job."""
    with suppress(ProcessLookupError):
        launcher.kill()
    launcher.wait()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink() == folder.resolve():
                os.kill(int(process.name), signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


PROBES = (Kills(),)
