"""Collect the environment of a job: machine, versions, packages, git commit, variables.

Runs in parallel to the job, because git can take seconds.
"""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from sonde import __version__
from sonde.masking import mask_environment, readable
from sonde.records.job import Surroundings

_GIT_SECONDS = 5.0


def find_environment(
    command: Sequence[str], folder: Path, variables: Mapping[str, str]
) -> Surroundings:
    """The environment of a command, with secrets masked."""
    interpreter = find_interpreter(command)
    versions = {"sonde": __version__, "sonde_python": platform.python_version()}
    if interpreter is not None:
        versions["python"] = interpreter.name.removeprefix("python")
    driver = _first_match(Path("/proc/driver/nvidia/version"), r"Module.*?\s(\d+(?:\.\d+)+)\s")
    if driver:
        versions["nvidia_driver"] = driver
    return Surroundings(
        versions=versions,
        machine=_machine(),
        packages=_packages(interpreter),
        environment=mask_environment(variables),
        git=_git(folder),
    )


def current_folder() -> str:
    """The current folder, or a placeholder if it was deleted."""
    try:
        return readable(str(Path.cwd()))
    except OSError:
        return "(deleted)"


def variables_of(pid: int) -> dict[str, str]:
    """The environment variables a process was started with; empty if not accessible."""
    try:
        content = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (entry.partition(b"=") for entry in content.split(b"\0") if b"=" in entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def find_interpreter(command: Sequence[str]) -> Path | None:
    """Return the library folder (`…/lib/python3.x`) of the Python that a command runs, or None."""
    program = shutil.which(command[0]) if command else None
    if program is None:
        return None
    program_path = Path(program)
    if not re.match(r"python[\d.]*$", program_path.name):
        program_path = Path(_shebang(program_path) or "")
    if not program_path.name.startswith("python"):
        return None
    for candidate in (
        program_path,
        program_path.resolve(),
    ):  # a virtual environment first, then its base
        site_packages = sorted(candidate.parent.parent.glob("lib/python3.*/site-packages"))
        if site_packages:
            return site_packages[-1].parent
    return None


def _shebang(program: Path) -> str | None:
    try:
        with program.open("rb") as file:
            first = file.readline(256)
    except OSError:
        return None
    words = first.removeprefix(b"#!").decode(errors="replace").split()
    if not first.startswith(b"#!") or not words:
        return None
    return shutil.which(words[1]) if words[0].endswith("/env") and len(words) > 1 else words[0]


def _packages(library: Path | None) -> dict[str, str]:
    """Installed distributions, read from folder names without importing anything."""
    if library is None:
        return {}
    versions = {}
    for path in sorted((library / "site-packages").glob("*.dist-info")):
        name, _, version = path.name.removesuffix(".dist-info").partition("-")
        versions[name] = version
    return versions


def _machine() -> dict[str, str]:
    system = platform.uname()
    return {
        "host": system.node,
        "system": f"{system.system} {system.release}",
        "architecture": system.machine,
        "distribution": _first_match(Path("/etc/os-release"), r'PRETTY_NAME="(.*)"') or "",
        "processor": _first_match(Path("/proc/cpuinfo"), r"model name\s*:\s*(.*)") or "",
        "cores": str(os.cpu_count() or 0),
        "memory_bytes": str(_memory_bytes()),
    }


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _first_match(path: Path, pattern: str) -> str | None:
    try:
        match = re.search(pattern, path.read_text(errors="replace"))
    except OSError:
        return None
    return match[1].strip() if match else None


def _git(folder: Path) -> dict[str, str]:
    commit = _run_git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {}
    status = _run_git(folder, "status", "--porcelain", "--untracked-files=no")
    facts = {
        "commit": commit,
        "branch": _run_git(folder, "rev-parse", "--abbrev-ref", "HEAD") or "",
    }
    if status is not None:
        facts["is_clean"] = "no" if status else "yes"
    return facts


def _run_git(folder: Path, *words: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() if result.returncode == 0 else None
