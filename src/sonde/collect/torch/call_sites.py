"""Where in the script something was called."""

import sys
import sysconfig
from functools import cache
from pathlib import Path

import torch

_MOST_FRAMES = 32
_MOST_OF_SCRIPT = 4

_LIBRARIES = tuple(
    {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        str(Path(torch.__file__).parent),
        str(Path(__file__).parents[2]),
        "<frozen ",
    }
)

CallSite = tuple[int, ...]


@cache
def _is_library(file: str) -> bool:
    return file.startswith(_LIBRARIES)


def call_site() -> CallSite:
    """The innermost places of the script itself; a loop comes to the same ones again and again.

    Frames of libraries do not count: a trainer calls `backward` from one place or from several.
    """
    found: list[int] = []
    frame = sys._getframe(1)  # noqa: SLF001 — there is no other name for it
    for _ in range(_MOST_FRAMES):
        code = frame.f_code
        if not _is_library(code.co_filename):
            found += (id(code), frame.f_lasti)
            if len(found) >= 2 * _MOST_OF_SCRIPT:
                break
        caller = frame.f_back
        if caller is None:
            break
        frame = caller
    return tuple(found)
