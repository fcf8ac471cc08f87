"""Probe: `sonde run` in broken environments, compared with the bare command.

Each case is an environment (limits, mounts, variables, closed streams) and an ending of the
command. The command's exit code and output must be those of the same command without Sonde, no
traceback may appear, and a job in the store must have the correct exit state.
"""

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from time import monotonic

from sonde.agent.exits import shell_code
from sonde.client.job import open_job
from sonde.errors import SondeError
from tests.torture.probe import Outcome

_SONDE = (sys.executable, "-m", "sonde", "run", "--no-rules", "--no-report", "--name", "job")
_BARE = ("/bin/sh", "-c", 'exec "$@"', "sh")  # as started by a shell
_SECONDS = 60.0
_USER = 61234  # an unused user ID, so that process limits count only this command
# another user with read access to everything, since Python may be installed in a private folder
_AS_USER = (
    *("setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
)
_SHADOWS = ("argparse", "json", "logging", "select", "signal", "socket")  # modules of Python
_REMOVED_PREFIXES = ("SONDE_", "SLURM_", "OMPI_", "PYTHONPATH", "TMPDIR", "TEMP", "TMP")

# In a mount namespace: the work folder becomes read-only, the store does not.
_READ_ONLY_TEMPORARY_FOLDERS = """
mount --bind "$STORE" "$STORE" || exit 99
for folder in /tmp /var/tmp /usr/tmp /dev/shm; do
    [ -d "$folder" ] || continue
    mount --rbind "$folder" "$folder" && mount -o remount,ro,bind "$folder" || exit 99
done
"""
_READ_ONLY_EVERYTHING = (
    _READ_ONLY_TEMPORARY_FOLDERS + 'mount -o remount,ro,bind "$STORE" || exit 99\n'
)
_FULL_STORE = """
mount -t tmpfs -o size=64k none "$STORE" || exit 99
cat /dev/zero > "$STORE/filling" 2>/dev/null
true
"""
_STORE_WITHOUT_INODES = 'mount -t tmpfs -o nr_inodes=4 none "$STORE" || exit 99\n'
_FULL_AFTER_A_FEW_FILES = 'mount -t tmpfs -o nr_inodes=12 none "$STORE" || exit 99\n'
_SMALL_STORE = 'mount -t tmpfs -o size=16k none "$STORE" || exit 99\n'


@dataclass(frozen=True)
class Environment:
    """A broken environment of the command.

    Args:
        name: A short description.
        script: Shell lines that run first, in a new mount namespace (needs root).
        limits: Resource limits, by number: `resource.RLIMIT_…`.
        variables: Environment variables; None removes one, and `{folder}` is a folder with modules
            that have the names of Python's own.
        closed: Streams that are closed: 0, 1, 2.
        processes: Maximum number of processes and threads of the other user; None: no limit.
        is_other_user: Whether the command runs as another user.
        is_folder_gone: Whether the current folder is deleted first.
        store: Where the job is recorded; None: a writable folder.
    """

    name: str
    script: str = ""
    limits: Mapping[int, int] = field(default_factory=dict)
    variables: Mapping[str, str | None] = field(default_factory=dict)
    closed: Sequence[int] = ()
    processes: int | None = None
    is_other_user: bool = False
    is_folder_gone: bool = False
    store: str | None = None

    @property
    def needs_root(self) -> bool:
        """Whether setting it up requires root."""
        return bool(self.script) or self.is_other_user

    @property
    def has_private_store(self) -> bool:
        """Whether the store is a private mount."""
        return "tmpfs" in self.script


@dataclass(frozen=True)
class Ending:
    """How the command ends."""

    name: str
    command: tuple[str, ...]


ENDINGS = (
    Ending("exit 0", ("/bin/sh", "-c", "echo output; exit 0")),
    Ending("exit 7", ("/bin/sh", "-c", "echo output; exit 7")),
    Ending("SIGKILL", ("/bin/sh", "-c", "echo output; kill -9 $$")),
    Ending("SIGTERM", ("/bin/sh", "-c", "echo output; kill -15 $$")),
    Ending("not found", ("no-such-command",)),
)

ENVIRONMENTS = (
    Environment("nothing wrong"),
    Environment("no temporary folder", script=_READ_ONLY_TEMPORARY_FOLDERS),
    Environment("everything read-only", script=_READ_ONLY_EVERYTHING),
    Environment("TMPDIR missing", variables={"TMPDIR": "/nonexistent"}),
    Environment("full store", script=_FULL_STORE),
    Environment("store too small", script=_SMALL_STORE),
    Environment("store without inodes", script=_STORE_WITHOUT_INODES),
    Environment("store with few inodes", script=_FULL_AFTER_A_FEW_FILES),
    # Python itself needs at least 5 to start
    *(
        Environment(f"{number} open files", limits={resource.RLIMIT_NOFILE: number})
        for number in (*range(5, 17), 20, 24, 28, 32)
    ),
    Environment("no file may grow", limits={resource.RLIMIT_FSIZE: 0}),
    Environment("files of 100 bytes at most", limits={resource.RLIMIT_FSIZE: 100}),
    # a shell forks no process to exit, so the bare command runs even here
    *(
        Environment(f"{number} processes", processes=number, is_other_user=True)
        for number in (1, 2, 3, 4, 6, 8, 12)
    ),
    Environment("another user", is_other_user=True),
    Environment("HOME unset", variables={"HOME": None}),
    Environment("HOME missing", variables={"HOME": "/nonexistent"}),
    Environment("store in the home of nobody", variables={"HOME": None}, store="~nobody-here/jobs"),
    Environment("store in /proc", store="/proc/sonde"),
    Environment("store is a file", store="/dev/null"),
    Environment("empty PATH", variables={"PATH": ""}),
    Environment("other modules on PYTHONPATH", variables={"PYTHONPATH": "{folder}"}),
    Environment("no variables at all", variables=dict.fromkeys(("HOME", "LANG", "USER", "TERM"))),
    Environment("ASCII only", variables={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}),
    Environment("current folder deleted", is_folder_gone=True),
    Environment("stdin closed", closed=(0,)),
    Environment("stdout closed", closed=(1,)),
    Environment("stderr closed", closed=(2,)),
    Environment("all streams closed", closed=(0, 1, 2)),
    Environment(
        "few open files and no temporary folder",
        script=_READ_ONLY_TEMPORARY_FOLDERS,
        limits={resource.RLIMIT_NOFILE: 9},
    ),
)


def usable_environments() -> list[Environment]:
    """Return the environments that this user can set up."""
    is_root = os.geteuid() == 0
    return [environment for environment in ENVIRONMENTS if is_root or not environment.needs_root]


def check(environment: Environment, ending: Ending, seed: int = 0) -> Outcome:
    """Run a command with and without Sonde in an environment, and compare."""
    case = f"{environment.name}, {ending.name}"
    folder = Path(tempfile.mkdtemp(prefix="sonde-torture-"))
    try:
        store = folder / "store"
        store.mkdir()
        folder.chmod(0o777)
        store.chmod(0o777)
        chosen = environment.store or str(store)
        bare = _run(environment, (*_BARE, *ending.command), folder)
        words = (*_SONDE, "--store", chosen, "--", *ending.command)
        watched = _run(environment, words, folder)
        state = None if environment.has_private_store else _untrue_state(store, bare)
        return Outcome(case, seed, crash=_difference(bare, watched), untrue_state=state)
    except subprocess.TimeoutExpired:
        return Outcome(case, seed, crash=f"not over after {_SECONDS:g} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _difference(
    bare: "subprocess.CompletedProcess[bytes]", watched: "subprocess.CompletedProcess[bytes]"
) -> str | None:
    errors = watched.stderr.decode(errors="replace")
    # a command that replaced the launcher is killed by the signal itself
    if shell_code(watched.returncode) != shell_code(bare.returncode):
        return f"exit code {watched.returncode} instead of {bare.returncode}: {errors[-300:]}"
    if watched.stdout != bare.stdout:
        return f"output {watched.stdout!r} instead of {bare.stdout!r}"
    if "Traceback" in errors or "Exception ignored" in errors:
        return f"a traceback: {errors[-300:]}"
    return None


def _untrue_state(store: Path, bare: "subprocess.CompletedProcess[bytes]") -> str | None:
    """Return the wrong state of a job in the store; None if it is correct or withdrawn."""
    if not (store / "job" / "job.json").exists():
        return None
    try:
        state = str(open_job(str(store / "job")).summary["state"])
    except SondeError as error:
        return f"the job cannot be opened: {error}"
    expected = "failed" if bare.returncode else "completed"
    return None if state == expected else f"state {state!r} instead of {expected!r}"


def _run(
    environment: Environment, command: Sequence[str], folder: Path
) -> "subprocess.CompletedProcess[bytes]":
    work = Path(tempfile.mkdtemp(dir=folder))
    work.chmod(0o777)
    if environment.processes is not None:
        command = ("prlimit", f"--nproc={environment.processes}", *command)
    if environment.is_other_user:
        command = (*_AS_USER, *command)
    if environment.script:
        inner = f'{environment.script}\nexec "$@"'
        command = ("unshare", "-m", "sh", "-c", inner, "sh", *command)
    variables = {
        name: text for name, text in os.environ.items() if not name.startswith(_REMOVED_PREFIXES)
    }
    variables["STORE"] = str(folder / "store")
    for name, text in environment.variables.items():
        variables.pop(name, None)
        if text is not None:
            variables[name] = text.replace("{folder}", str(_shadows_in(folder)))
    return subprocess.run(
        command,
        cwd=work,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        preexec_fn=_preparing(environment, work),
        timeout=_SECONDS,
        check=False,
    )


def _shadows_in(folder: Path) -> Path:
    """Write modules that exit when they are imported."""
    shadows = folder / "shadows"
    shadows.mkdir(exist_ok=True)
    for name in _SHADOWS:
        (shadows / f"{name}.py").write_text("raise SystemExit(3)\n")
    return shadows


def _preparing(environment: Environment, work: Path) -> Callable[[], None]:
    def prepare() -> None:
        if environment.is_folder_gone:
            work.rmdir()
        for number, limit in environment.limits.items():
            resource.setrlimit(number, (limit, limit))
        for stream in environment.closed:
            os.close(stream)

    return prepare


class BadEnvironments:
    """Every environment with every ending, shuffled by the seed."""

    name = "environments"

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per environment and ending."""
        cases = list(product(usable_environments(), ENDINGS))
        random.Random(seed).shuffle(cases)
        for environment, ending in cases:
            if monotonic() > deadline:
                return
            yield check(environment, ending, seed)


PROBES = (BadEnvironments(),)
