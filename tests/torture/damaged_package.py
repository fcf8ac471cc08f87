"""Probe: a file of Sonde is missing or damaged while programs of a job run.

A copy of the package is damaged in one file, and a small program runs with it injected. Its exit
code and its output must be those of the same program alone, and no traceback of ours may appear
in them.
"""

import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import sonde
from tests.journeys.sonde_cli import plain_environment
from tests.torture.probe import Outcome

PACKAGE = Path(sonde.__file__).parent
_SECONDS = 120.0
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

# Programs by name. The first line of their output is theirs alone to write.
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
# What a light program loads of ours; whatever trains loads nearly everything in these folders.
LIGHT = ("collect/injected.py", "collect/failure.py", "guard.py", "__init__.py", "clock.py")
_TRAINED_WITH = ("collect", "settings", "store", "records")

# Moves the package away first, as an upgrade or a dropped privilege would.
GONE = """
import os, sys
folder = next(place for place in sys.path if place.endswith("inject"))
package = os.path.dirname(os.path.dirname(folder))
os.rename(package, package + "-moved")
"""


def check(program: str, path: str | None, damage: str, seed: int = 0) -> Outcome:
    """Run a program with one file damaged; without a path, the whole package moves away."""
    case = f"{program}: {path or 'the package'} {damage}"
    folder = Path(tempfile.mkdtemp(prefix="sonde-damaged-"))
    try:
        copy = folder / "lib" / "sonde"
        shutil.copytree(PACKAGE, copy, ignore=_NOT_CODE)
        text = PROGRAMS[program]
        bare = _run(folder, text, None)
        if path is None:
            text = GONE + text
        else:
            DAMAGES[damage](copy / path)
        injected = _run(folder, text, copy / "collect" / "inject")
        return Outcome(case, seed, crash=_difference(bare, injected))
    except subprocess.TimeoutExpired:
        return Outcome(case, seed, crash=f"not over after {_SECONDS:g} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
    told = [line for line in ours if not line.startswith("sonde: ")]
    return f"a line of ours: {told[0]}" if told else None


def _run(folder: Path, text: str, inject: Path | None) -> "subprocess.CompletedProcess[str]":
    script = folder / "script.py"
    script.write_text(text)
    variables = plain_environment()
    if inject is not None:
        variables |= {"PYTHONPATH": str(inject), "SONDE_JOB_URI": str(folder / "job")}
    return subprocess.run(
        [sys.executable, "-P", str(script)],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )


def light_cases() -> list[tuple[str, str | None, str]]:
    """Programs that start quickly, with every damage to what they load of ours."""
    programs = ("processes", "dies", "child dies")
    cases: list[tuple[str, str | None, str]] = [
        (program, path, damage) for program in programs for path in LIGHT for damage in DAMAGES
    ]
    return [*cases, *((program, None, "moved") for program in programs)]


def heavy_cases() -> list[tuple[str, str | None, str]]:
    """Training, with every damage to every file that it may load."""
    paths = sorted(
        str(path.relative_to(PACKAGE))
        for folder in _TRAINED_WITH
        for path in (PACKAGE / folder).rglob("*.py")
        if path.name != "sitecustomize.py"
    )
    cases: list[tuple[str, str | None, str]] = [
        (program, path, damage)
        for program in ("training", "training dies")
        for path in (*paths, "guard.py", "clock.py", "errors.py", "plugins.py")
        for damage in DAMAGES
    ]
    return [*cases, ("training", None, "moved")]


class DamagedPackage:
    """Half the time for programs that start quickly, the rest for training."""

    name = "damaged-package"

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per program, file and damage."""
        light, heavy = light_cases(), heavy_cases()
        for cases in (light, heavy):
            random.Random(seed).shuffle(cases)
        half = monotonic() + (deadline - monotonic()) / 2
        for cases, end in ((light, half), (heavy, deadline)):
            for case in cases:
                if monotonic() > end:
                    break
                yield check(*case, seed)


PROBES = (DamagedPackage(),)
