"""Which Python a command starts, and whether its inside can be seen: some options forbid it."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

_PYTHON = re.compile(r"(python|pypy)[0-9.]*(\.exe)?", re.IGNORECASE)
_SHUT = {
    "I": "isolates it from its environment",
    "E": "makes it ignore PYTHONPATH",
    "S": "leaves out what runs at its start",
}
# letters, of which the last may take a value: in the same word or in the next
_OPTIONS = re.compile(r"-(?P<letters>[^cmWXQ-]+)?(?P<last>[cmWXQ])?(?P<value>.*)", re.DOTALL)
_FIRST_LINE_BYTES = 512


def why_shut(command: Sequence[str], injected: Path) -> str | None:
    """Why the inside of the command's Python cannot be seen, as far as its words tell.

    Args:
        command: The command and its arguments.
        injected: The folder that is put on the path.
    """
    if os.pathsep in str(injected):
        return f"{injected} cannot be on a PYTHONPATH: it has a {os.pathsep!r} in its name"
    for words in (_first_line(command[0]), command):
        for place, word in enumerate(words):
            option = _shut_by(words[place + 1 :]) if _is_python(word) else None
            if option is not None:
                return f"{Path(word).name} -{option} {_SHUT[option]}"
    return None


def why_unseen(command: Sequence[str], injected: Path) -> str | None:
    """Why the inside of the command cannot be recorded, as far as that is known beforehand."""
    return why_shut(command, injected) or why_hook_fails(command, injected)


def why_hook_fails(command: Sequence[str], injected: Path) -> str | None:
    """Why no Python that the command starts can run the start-up module; None where it can.

    Args:
        command: The command and its arguments.
        injected: The folder that is put on the path.
    """
    if not any(_is_python(word) for word in (*_first_line(command[0]), *command)):
        return None
    path = injected / "sitecustomize.py"
    try:
        compile(path.read_bytes(), str(path), "exec")
    except (OSError, SyntaxError, ValueError) as error:
        return f"Sonde's hook could not be loaded into the process: {error}"
    return None


def _is_python(word: str) -> bool:
    return _PYTHON.fullmatch(word.rpartition("/")[2]) is not None


def _shut_by(words: Sequence[str]) -> str | None:
    """The first option that shuts Python, in the words that follow its name."""
    rest = iter(words)
    for word in rest:
        option = _OPTIONS.fullmatch(word)
        if option is None or word == "-":
            return None
        shut = next((letter for letter in option["letters"] or "" if letter in _SHUT), None)
        if shut or option["last"] in ("c", "m"):  # behind -c and -m the program's own words begin
            return shut
        if option["last"] and not option["value"]:
            next(rest, None)
    return None


def _first_line(program: str) -> list[str]:
    """The words of a script's `#!` line; none where it is no script."""
    path = shutil.which(program)
    try:
        with Path(path or program).open("rb") as file:
            line = file.read(_FIRST_LINE_BYTES).partition(b"\n")[0]
    except (OSError, ValueError):
        return []
    return line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
