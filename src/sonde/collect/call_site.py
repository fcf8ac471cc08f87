"""Call sites in the training script: identify them cheaply, and describe them once.

A call site is the chain of the script's own frames, from the inside out. Frames of installed
packages are left out, so a loop that runs inside a framework is known by the line that starts it.
"""

import linecache
import re
import sysconfig
from collections.abc import Iterable
from inspect import currentframe
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

_MAX_FRAMES = 48
_MAX_SCRIPT_FRAMES = 8
_MAX_SEGMENT_LINES = 8
_PACKAGE = str(Path(__file__).parent.parent)
_PATHS = sysconfig.get_paths()
_LIBRARIES = (
    *(_PATHS[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    *(_PACKAGE, "<frozen"),
)
_INSTALLED = ("/site-packages/", "/dist-packages/")

TRAIN, VALIDATION, TEST = "train", "validation", "test"
_SPLITS = {
    TRAIN: ("train", "training", "trn", "tr"),
    VALIDATION: ("val", "valid", "validation", "validate", "validating", "dev", "holdout"),
    TEST: ("test", "testing", "tst", "te"),
}
_SPLIT_OF = {word: split for split, words in _SPLITS.items() for word in words}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")

Chain = tuple[tuple[int, int], ...]  # code objects by identity, and the instruction in each


class Frame(NamedTuple):
    """One frame of the script: where it is, and the expression that it evaluates."""

    key: tuple[int, int]
    function: str
    file: str
    line: int
    expression: str


class CallSites:
    """Finds the frames of the script; remembers which code belongs to it."""

    def __init__(self) -> None:
        self._is_script: dict[int, tuple[CodeType, bool]] = {}
        self._described: dict[Chain, list[Frame]] = {}

    def chain(self) -> Chain:
        """The call site that leads here, without describing it: about a microsecond."""
        frames = self._frames()
        return tuple([(id(frame.f_code), frame.f_lasti) for frame in frames])

    def describe(self, chain: Chain) -> list[Frame]:
        """The frames of the call site that leads here, with the source of what they evaluate."""
        if chain not in self._described:
            self._described[chain] = [_described(frame) for frame in self._frames()]
        return self._described[chain]

    def _frames(self) -> list[FrameType]:
        found: list[FrameType] = []
        known, frame = self._is_script, currentframe()
        for _ in range(_MAX_FRAMES):
            if frame is None or len(found) == _MAX_SCRIPT_FRAMES:
                break
            code = frame.f_code
            entry = known.get(id(code))
            if entry is None:
                entry = known[id(code)] = (code, _is_of_script(code.co_filename))
            if entry[1]:
                found.append(frame)
            frame = frame.f_back
        return found


def _is_of_script(file: str) -> bool:
    is_installed = any(folder in file for folder in _INSTALLED)
    return not (is_installed or file.startswith(_LIBRARIES))


def split_of(frames: Iterable[Frame], shared: set[tuple[int, int]]) -> tuple[str, Frame] | None:
    """The data split that a frame names, and that frame: arguments first, then functions.

    Args:
        frames: From the inside out.
        shared: Frames that training passes through as well: they tell nothing.
    """
    own = [frame for frame in frames if frame.key not in shared]
    for frame in own:
        splits = _splits_in(_parts(frame)[1])
        if len(splits) == 1:
            return splits.pop(), frame
    for frame in own:
        splits = _splits_in(_parts(frame)[0]) | _splits_in(frame.function)
        splits.discard(TRAIN)  # functions that train evaluate, too
        if len(splits) == 1:
            return splits.pop(), frame
    return None


def _parts(frame: Frame) -> tuple[str, str]:
    """What is called, and with which arguments; a loop over a variable is only the latter."""
    callee, _, arguments = frame.expression.partition("(")
    return (callee, arguments) if arguments else ("", callee)


def split_named(text: str) -> str | None:
    """The data split that a word such as `val` stands for."""
    splits = _splits_in(text)
    return splits.pop() if len(splits) == 1 else None


def _splits_in(text: str) -> set[str]:
    words = [word.lower() for word in _WORD.findall(text)]
    shorter = [word[1:] for word in words if word[0] in "xy"]  # X_train is often Xtrain
    return {_SPLIT_OF[word] for word in (*words, *shorter) if word in _SPLIT_OF}


def _described(frame: FrameType) -> Frame:
    code = frame.f_code
    positions = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    return Frame(
        (id(code), frame.f_lasti),
        code.co_name,
        Path(code.co_filename).name,
        frame.f_lineno or code.co_firstlineno,
        _source(code.co_filename, positions),
    )


def _source(file: str, positions: tuple[int | None, ...]) -> str:
    line, end_line, column, end_column = positions
    if line is None or end_line is None or column is None or end_column is None:
        return ""
    if end_line - line >= _MAX_SEGMENT_LINES:
        return ""
    lines = [linecache.getline(file, number).encode() for number in range(line, end_line + 1)]
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    return b"".join(lines).decode(errors="replace")
