"""Call sites in the training script: identify them cheaply, and describe them once.

A call site is the chain of the script's own frames, from the inside out. Frames of installed
packages are left out, so a loop that runs inside a framework is known by the line that starts it.
"""

import linecache
import re
import sys
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

Splits = tuple[str, ...]
_NOWHERE = -1
_IS_SNAPSHOT = sys.version_info < (3, 13)  # of the variables of a function, kept by its frame

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
        # by code object: whether it belongs to the script, and the splits that it loops over
        self._codes: dict[int, tuple[CodeType, bool, Splits]] = {}
        self._described: dict[Chain, list[Frame]] = {}

    def chain(self) -> Chain:
        """The call site that leads here, without describing it: a few microseconds."""
        keys = []
        for frame in self._frames():
            code = frame.f_code
            splits = self._codes[id(code)][2]
            if splits:
                keys.append((id(splits), _position(frame, splits)))
            keys.append((id(code), frame.f_lasti))
        return tuple(keys)

    def describe(self, chain: Chain) -> list[Frame]:
        """The frames of the call site that leads here, with the source of what they evaluate."""
        if chain not in self._described:
            self._described[chain] = [
                one for frame in self._frames() for one in self._described_with_split(frame)
            ]
        return self._described[chain]

    def _described_with_split(self, frame: FrameType) -> list[Frame]:
        """A frame; before it, the split that it is at in a loop over splits."""
        described = _described(frame)
        splits = self._codes[id(frame.f_code)][2]
        position = _position(frame, splits) if splits else _NOWHERE
        if position == _NOWHERE:
            return [described]
        key = (id(splits), position)
        return [described._replace(key=key, expression=splits[position]), described]

    def _frames(self) -> list[FrameType]:
        found: list[FrameType] = []
        known, frame, left = self._codes, currentframe(), _MAX_FRAMES
        while frame is not None and left and len(found) < _MAX_SCRIPT_FRAMES:
            code = frame.f_code
            entry = known.get(id(code))
            if entry is None:
                is_script = _is_of_script(code.co_filename)
                splits = _looped_splits(code) if is_script else ()
                entry = known[id(code)] = (code, is_script, splits)
            if entry[1]:
                found.append(frame)
            if found:  # hooks below the script's first frame differ from call to call
                left -= 1
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


def _looped_splits(code: CodeType) -> Splits:
    """The splits that a function loops over, as in `for split in ("train", "val")`."""
    constants = [one for one in code.co_consts if isinstance(one, tuple) and len(one) > 1]
    for value in constants:
        if all(isinstance(one, str) and split_named(one) for one in value):
            return value
    return ()


def _position(frame: FrameType, splits: Splits) -> int:
    """Which of the splits a variable of the frame holds."""
    code = frame.f_code
    is_function = code.co_name != "<module>"
    variables = frame.f_locals
    values = [variables.get(name) for name in (code.co_varnames if is_function else code.co_names)]
    if is_function and _IS_SNAPSHOT:
        variables.clear()  # else the frame would keep its tensors alive
    for value in values:
        if type(value) is str and value in splits:
            return splits.index(value)
    return _NOWHERE


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
