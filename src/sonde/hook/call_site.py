"""Call sites in the training script: identify them cheaply, and describe each once.

A call site is the chain of the script's frames, innermost first. Frames of installed packages are
skipped, so a loop that runs inside a framework is identified by the line that starts it.
"""

import dis
import linecache
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from inspect import currentframe
from itertools import islice, takewhile
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
_NO_POSITION = -1
_SETS_VARIABLES = ("STORE_", "UNPACK_", "EXTENDED_ARG")
_IS_SNAPSHOT = sys.version_info < (3, 13)  # `f_locals` is a copy that the frame keeps alive

Chain = tuple[tuple[int, int], ...]  # (key of a code object, instruction offset) of each frame


class Frame(NamedTuple):
    """A frame of the script: its location, and the expression that it evaluates."""

    key: tuple[int, int]
    function: str
    file: str
    line: int
    expression: str


class _Loop(NamedTuple):
    """A `for` loop: the range of its instructions, and the variables that it sets."""

    begin: int
    end: int
    variables: tuple[str, ...]


class _Script(NamedTuple):
    """A code object of the script."""

    code: CodeType  # kept alive, so that its id is not reused
    key: int  # the same for equal code, since a notebook cell is recompiled for each run
    splits: Splits  # data splits that a tuple in its code names
    loops: tuple[_Loop, ...]  # loops that may iterate over the splits
    is_outermost: bool  # module level: outer frames do not belong to the loop


class CallSites:
    """Finds the frames of the script, and caches which code belongs to it."""

    def __init__(self) -> None:
        self._scripts: dict[int, _Script | None] = {}  # by id of code; None for library code
        self._keys: dict[tuple[str, CodeType], int] = {}  # by file and code
        self._libraries: list[CodeType] = []  # kept alive, so that their ids are not reused
        self._described: dict[Chain, list[Frame]] = {}

    def chain(self) -> Chain:
        """The current call site, without a description (takes about two microseconds)."""
        keys: list[tuple[int, int]] = []
        scripts, frame, remaining = self._scripts, currentframe(), _MAX_FRAMES
        while frame is not None and remaining:
            code = frame.f_code
            key = id(code)
            script = scripts[key] if key in scripts else self._learn(code)
            if script is not None:
                key = script.key
                if script.loops:
                    keys.append((~key, _position(frame, script)))
                keys.append((key, frame.f_lasti))
                if script.is_outermost or len(keys) >= _MAX_SCRIPT_FRAMES:
                    break
            if keys:  # the number of hook frames below the script varies between calls
                remaining -= 1
            frame = frame.f_back
        return tuple(keys)

    def describe(self, chain: Chain) -> list[Frame]:
        """The frames of the current call site, with the source of their expressions."""
        if chain not in self._described:
            self._described[chain] = self._describe(chain)
        return self._described[chain]

    def _describe(self, chain: Chain) -> list[Frame]:
        keys, frames = dict(chain), list[Frame]()
        frame = currentframe()
        while frame is not None and len(frames) < len(chain):
            script = self._scripts.get(id(frame.f_code))
            if script is not None and script.key in keys:
                position = keys.get(~script.key, _NO_POSITION)
                described = _describe_frame(frame, script.key)
                if position != _NO_POSITION:  # put the current split of a loop over splits first
                    key = (~script.key, position)
                    expression = script.splits[position]
                    frames.append(described._replace(key=key, expression=expression))
                frames.append(described)
            frame = frame.f_back
        return frames

    def _learn(self, code: CodeType) -> _Script | None:
        if _is_of_script(code.co_filename):
            splits = _mentioned_splits(code)
            loops = tuple(_loops(code)) if splits else ()
            key = self._keys.setdefault((code.co_filename, code), id(code))
            script = _Script(code, key, splits, loops, code.co_name == "<module>")
            self._scripts[id(code)] = script
            return script
        self._libraries.append(code)
        self._scripts[id(code)] = None
        return None


def site_within(chain: Chain, trainings: Iterable[Chain]) -> Chain:
    """The part of a call site up to its innermost function that also trains.

    The callers of a function that both trains and evaluates do not distinguish evaluations.
    """
    functions = {key for training in trainings for key, _ in training}
    for depth, (key, _) in enumerate(chain, 1):
        if key > 0 and key in functions:
            return chain[:depth]
    return chain


def _is_of_script(file: str) -> bool:
    is_installed = any(folder in file for folder in _INSTALLED)
    return not (is_installed or file.startswith(_LIBRARIES))


def split_of(frames: Iterable[Frame], shared: set[tuple[int, int]]) -> tuple[str, Frame] | None:
    """The data split that a frame names, and that frame; arguments take precedence over functions.

    Args:
        frames: Innermost first.
        shared: Keys of frames that are also part of training call sites; these are ignored.
    """
    distinct = [frame for frame in frames if frame.key not in shared]
    for frame in distinct:
        splits = _splits_in(_callee_and_arguments(frame)[1])
        if len(splits) == 1:
            return splits.pop(), frame
    for frame in distinct:
        splits = _splits_in(_callee_and_arguments(frame)[0]) | _splits_in(frame.function)
        splits.discard(TRAIN)  # functions that train may evaluate too
        if len(splits) == 1:
            return splits.pop(), frame
    return None


def _callee_and_arguments(frame: Frame) -> tuple[str, str]:
    """The callee and the arguments of a call; a loop over a variable has only arguments."""
    callee, _, arguments = frame.expression.partition("(")
    return (callee, arguments) if arguments else ("", callee)


def split_named(text: str) -> str | None:
    """The data split that a word such as `val` names."""
    splits = _splits_in(text)
    return splits.pop() if len(splits) == 1 else None


def _splits_in(text: str) -> set[str]:
    words = [word.lower() for word in _WORD.findall(text)]
    shorter = [word[1:] for word in words if word[0] in "xy"]  # X_train is often Xtrain
    return {_SPLIT_OF[word] for word in (*words, *shorter) if word in _SPLIT_OF}


def _mentioned_splits(code: CodeType) -> Splits:
    """The splits that a function names together, as in `for split in ("train", "val")`."""
    for constant in code.co_consts:
        if not isinstance(constant, tuple) or len(constant) < 2:
            continue
        if all(isinstance(word, str) and split_named(word) for word in constant):
            return constant
    return ()


def _loops(code: CodeType) -> Iterator[_Loop]:
    """The `for` loops of a function."""
    instructions = list(dis.get_instructions(code))
    for index, instruction in enumerate(instructions):
        if instruction.opname == "FOR_ITER":
            following = islice(instructions, index + 1, None)
            stores = takewhile(_sets_variables, following)
            names = (name for store in stores for name in _names_in(store))
            yield _Loop(instruction.offset, int(instruction.argval), tuple(names))


def _sets_variables(instruction: dis.Instruction) -> bool:
    return instruction.opname.startswith(_SETS_VARIABLES)


def _names_in(instruction: dis.Instruction) -> tuple[str, ...]:
    """The variables that an instruction sets; some instructions set two."""
    value = instruction.argval
    names = value if isinstance(value, tuple) else (value,)
    return tuple(name for name in names if isinstance(name, str))


def _position(frame: FrameType, script: _Script) -> int:
    """Index of the split that the frame's loop over splits has reached."""
    offset = frame.f_lasti
    loops = [loop for loop in script.loops if loop.begin < offset < loop.end]
    names = [name for loop in loops for name in loop.variables]
    if not names:
        return _NO_POSITION
    variables = frame.f_locals
    values = [variables.get(name) for name in names]
    if _IS_SNAPSHOT and script.code.co_name != "<module>":
        variables.clear()  # otherwise the frame would keep its tensors alive
    for value in values:
        if type(value) is str and value in script.splits:
            return script.splits.index(value)
    return _NO_POSITION


def _describe_frame(frame: FrameType, key: int) -> Frame:
    code = frame.f_code
    positions = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    return Frame(
        (key, frame.f_lasti),
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
