"""Probe: a file of Sonde is missing or damaged while programs of a job run.

One file of a copy of the package is damaged, and a small program runs with it injected. Its exit
code and output must be those of the program without Sonde, and no traceback of Sonde may
appear.
"""

import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import sonde
from tests.journeys.sonde_cli import plain_environment
from tests.journeys.warm_python import WarmPython
from tests.torture.probe import Outcome

PACKAGE = Path(sonde.__file__).parent
_SECONDS = 120.0
_NOT_LOADED = "Sonde's hook could not be loaded"
_LONG_SECONDS = 20.0
_NOT_CODE = shutil.ignore_patterns("assets", "__pycache__")


def _replace(text: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_text(text)

    return damage


def _cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _garble(path: Path) -> None:
    path.write_bytes(b"\x80\x00\xff garbage (" * 20)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "emptied": _replace(""),
    "cut": _cut,
    "garbled": _garble,
    "raises SystemExit": _replace("raise SystemExit(3)\n"),
    "calls sys.exit": _replace("import sys\nsys.exit(3)\n"),
    "raises KeyboardInterrupt": _replace("raise KeyboardInterrupt\n"),
    "raises ImportError": _replace("raise ImportError('no such thing')\n"),
    "recurses": _replace("def down():\n    down()\n\n\ndown()\n"),
}

# Programs by name.
_END = "print('output')\nraise SystemExit(5)\n"
_TRAINING = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 3)).square().mean()
    loss.backward()
    optimizer.step()
print(loss.item())
"""
PROGRAMS = {
    "processes": "import json, multiprocessing, multiprocessing.pool\n" + _END,
    "dies": "import json\nprint('output')\nraise ValueError('mine')\n",
    "child dies": """
import multiprocessing
def work():
    raise ValueError('mine')
if __name__ == "__main__":
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    print('output', child.exitcode)
    raise SystemExit(5)
""",
    "training": _TRAINING + _END,
    "training dies": _TRAINING + "raise ValueError('mine')\n",
}
# Files of Sonde that a light program loads. Training loads nearly all files in these folders.
STARTUP = "hook/inject/sitecustomize.py"  # loaded first: only the launcher can check it
REPORT = "hook/startup_report.py"
LIGHT = (
    STARTUP,
    REPORT,
    "hook/injected.py",
    "hook/failure.py",
    "guard.py",
    "__init__.py",
    "clock.py",
)
_TRAINED_WITH = ("hook", "settings", "store", "records", "masking")

# Imported by Python at startup if the folder is on its path.
_INJECTED = """import sys
sys.path.insert(0, {folder!r})
sys.modules.pop("sitecustomize", None)
import sitecustomize
"""

# Moves the package away first, as an upgrade or a dropped privilege would.
MISSING = """
import os, sys
folder = next(place for place in sys.path if place.endswith("inject"))
package = os.path.dirname(os.path.dirname(folder))
os.rename(package, package + "-moved")
"""


class Bench:
    """A copy of the package, damaged in one file at a time, and programs that run with it.

    Training programs are forks of a Python process with PyTorch loaded, so they import it
    before Sonde.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._copy = folder / "lib" / "sonde"
        shutil.copytree(PACKAGE, self._copy, ignore=_NOT_CODE)
        self._bare: dict[str, subprocess.CompletedProcess[str]] = {}
        self._warm = WarmPython(("torch", "torch.utils.data"), plain_environment())

    def check(self, program: str, path: str | None, damage: str, seed: int) -> Outcome:
        """Run a program with one file damaged; without a path, the whole package moves away."""
        case = f"{program}: {path or 'the package'} {damage}"
        text = PROGRAMS[program]
        if program not in self._bare:
            self._bare[program] = self._run(program, text, is_injected=False)
        try:
            with self._damaged(path, damage):
                text = text if path is not None else MISSING + text
                if path == STARTUP:
                    injected = self._launch(text)
                else:
                    injected = self._run(program, text, is_injected=True)
        except subprocess.TimeoutExpired:
            return Outcome(case, seed, crash=f"not over after {_SECONDS:g} s")
        crash = _difference(self._bare[program], injected)
        if path == STARTUP and _NOT_LOADED not in injected.stderr:
            crash = crash or f"the damage is not reported: {injected.stderr}"
        return Outcome(case, seed, crash=crash)

    @contextmanager
    def _damaged(self, path: str | None, damage: str) -> Iterator[None]:
        if path is None:
            yield
            moved = self._copy.with_name("sonde-moved")
            if moved.exists():
                moved.rename(self._copy)
            return
        file = self._copy / path
        content = file.read_bytes()
        DAMAGES[damage](file)
        try:
            yield
        finally:
            file.write_bytes(content)

    def _run(
        self, program: str, text: str, *, is_injected: bool
    ) -> "subprocess.CompletedProcess[str]":
        script, inject = self._folder / "script.py", str(self._copy / "hook" / "inject")
        variables = {"SONDE_JOB_URI": str(self._folder / "job")} if is_injected else {}
        if program.startswith("training"):
            start = _INJECTED.format(folder=inject) if is_injected else ""
            script.write_text(start + text)
            return self._warm.run(script, self._folder, variables)
        script.write_text(text)
        variables |= {"PYTHONPATH": inject} if is_injected else {}
        return self._execute([sys.executable, "-P", str(script)], variables)

    def _launch(self, text: str) -> "subprocess.CompletedProcess[str]":
        """Run a program with `sonde run` of the copy."""
        script = self._folder / "script.py"
        script.write_text(text)
        launcher = [sys.executable, "-P", "-m", "sonde", "run", "--no-rules", "--no-report"]
        words = [*launcher, "--store", str(self._folder / "store"), sys.executable, "-P"]
        return self._execute([*words, str(script)], {"PYTHONPATH": str(self._copy.parent)})

    def _execute(
        self, command: list[str], variables: dict[str, str]
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            cwd=self._folder,
            env=plain_environment() | variables,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )


def _difference(
    bare: "subprocess.CompletedProcess[str]", injected: "subprocess.CompletedProcess[str]"
) -> str | None:
    if injected.returncode != bare.returncode:
        return f"exit code {injected.returncode} instead of {bare.returncode}: {injected.stderr}"
    if injected.stdout != bare.stdout:
        return f"output {injected.stdout!r} instead of {bare.stdout!r}"
    if injected.stderr.count("Traceback") != bare.stderr.count("Traceback"):
        return f"another traceback: {injected.stderr}"
    ours = [line for line in injected.stderr.splitlines() if "/lib/sonde/" in line]
    unexpected = [line for line in ours if not line.startswith("sonde: ")]
    return f"a line of ours: {unexpected[0]}" if unexpected else None


def light_cases() -> list[tuple[str, str | None, str]]:
    """Return quick programs with every damage to the files of Sonde that they load."""
    programs = ("processes", "dies", "child dies")
    cases: list[tuple[str, str | None, str]] = [
        (program, path, damage) for program in programs for path in LIGHT for damage in DAMAGES
    ]
    return [*cases, *((program, None, "moved") for program in programs)]


def heavy_cases(seed: int) -> list[tuple[str, str | None, str]]:
    """Return trainings in which every file is damaged once before any is damaged again."""
    chance = random.Random(seed)
    paths: list[str | None] = [
        str(path.relative_to(PACKAGE))
        for folder in _TRAINED_WITH
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        if path.name != "sitecustomize.py"
    ]
    cases: list[tuple[str, str | None, str]] = []
    ways = [(program, damage) for program in ("training", "training dies") for damage in DAMAGES]
    chance.shuffle(ways)
    for turn in range(len(ways)):
        chance.shuffle(paths)
        for number, path in enumerate(paths):
            program, damage = ways[(turn + number) % len(ways)]
            cases.append((program, path, damage))
    cases.insert(0, ("training", None, "moved"))
    return cases


class DamagedPackage:
    """Spends a third of the time on programs that start quickly, the rest on training."""

    name = "damaged-package"

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per program, file and damage; at least one of each kind of program."""
        light, heavy = light_cases(), heavy_cases(seed)
        random.Random(seed).shuffle(light)
        if deadline - monotonic() < _LONG_SECONDS:  # loading PyTorch would take too long
            heavy = []
        third = monotonic() + (deadline - monotonic()) / 3
        with tempfile.TemporaryDirectory(
            prefix="sonde-damaged-", ignore_cleanup_errors=True
        ) as folder:
            bench = Bench(Path(folder))
            for cases, end in ((light, third), (heavy, deadline)):
                for number, case in enumerate(cases):
                    if number > 0 and monotonic() > end:
                        break
                    yield bench.check(*case, seed)


PROBES = (DamagedPackage(),)
