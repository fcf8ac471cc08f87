"""Detect what prevents the hook from loading: Python options, or damage to its first module."""

import os
import re
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path

_PYTHON = re.compile(r"(python|pypy)[0-9.]*(\.exe)?", re.IGNORECASE)
_ISOLATING = {
    "I": "isolates it from its environment",
    "E": "makes it ignore PYTHONPATH",
    "S": "disables start-up modules",
}
# option letters; the last one may take a value in the same word or in the next word
_OPTIONS = re.compile(r"-(?P<letters>[^cmWXQ-]+)?(?P<last>[cmWXQ])?(?P<value>.*)", re.DOTALL)
_FIRST_LINE_BYTES = 512
_NOT_LOADED = "Sonde's hook could not be loaded into the process"

# Checksum of hook/inject/sitecustomize.py; `make startup` writes it.
STARTUP_CRC32 = 0xE6F039D9


def why_isolated(command: Sequence[str], injected: Path) -> str | None:
    """Why the options of the command prevent the hook from loading; None if they do not.

    Args:
        command: The command and its arguments.
        injected: The folder added to PYTHONPATH.
    """
    if os.pathsep in str(injected):
        return f"{injected} cannot be added to PYTHONPATH because it contains {os.pathsep!r}"
    for words in (_first_line(command[0]), command):
        for index, word in enumerate(words):
            option = _isolating_option(words[index + 1 :]) if _is_python(word) else None
            if option is not None:
                return f"{Path(word).name} -{option} {_ISOLATING[option]}"
    return None


def why_not_recorded(command: Sequence[str], injected: Path) -> str | None:
    """Why the training process cannot be recorded; None if no reason is known in advance."""
    return why_isolated(command, injected) or why_hook_fails(injected)


def why_hook_fails(injected: Path) -> str | None:
    """Why the startup module must not be loaded; None if it is intact.

    Python loads it before the program, so nothing could catch a SystemExit that it raises.

    Args:
        injected: The folder added to PYTHONPATH.
    """
    path = injected / "sitecustomize.py"
    try:
        is_intact = zlib.crc32(path.read_bytes()) == STARTUP_CRC32
    except OSError as error:
        return f"{_NOT_LOADED}: {error}"
    return None if is_intact else f"{_NOT_LOADED}: {path} is damaged. Reinstall Sonde"


def _is_python(word: str) -> bool:
    return _PYTHON.fullmatch(word.rpartition("/")[2]) is not None


def _isolating_option(words: Sequence[str]) -> str | None:
    """The first isolating option in the words after the interpreter."""
    rest = iter(words)
    for word in rest:
        option = _OPTIONS.fullmatch(word)
        if option is None or word == "-":
            return None
        isolating = next(
            (letter for letter in option["letters"] or "" if letter in _ISOLATING), None
        )
        if isolating or option["last"] in ("c", "m"):  # followed by the program's arguments
            return isolating
        if option["last"] and not option["value"]:
            next(rest, None)
    return None


def _first_line(program: str) -> list[str]:
    """The words of a script's `#!` line; empty if it has none."""
    path = shutil.which(program)
    try:
        with Path(path or program).open("rb") as file:
            line = file.read(_FIRST_LINE_BYTES).partition(b"\n")[0]
    except (OSError, ValueError):
        return []
    return line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
