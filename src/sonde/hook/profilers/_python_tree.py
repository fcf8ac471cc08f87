"""The bounded call tree of a Python profile, without Sonde's own functions."""

import os
from pathlib import Path
from types import CodeType, FrameType

from sonde.records.python_profile import Function

TRAINING = "training"  # the training thread
ROOT = -1
OURS = -2  # replaces the node while Sonde's own code runs
_MAX_NODES = 50_000
_MAX_STACKS = 5_000
_PACKAGE = Path(__file__).parents[2]
_OURS = f"{_PACKAGE}{os.sep}"
_DEMO = f"{_PACKAGE / 'demo'}{os.sep}"  # contains a training script, which is profiled
# the variable names of wrapped functions in Sonde's wrappers
_WRAPPED = frozenset(("original", "closure", "compiled", "module_of"))


class CallTree:
    """Nodes by their parent, code object and instruction."""

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self.parents: list[int] = []
        self.node_functions: list[int] = []
        self.lines: list[int] = []
        self.is_cut = False
        self._nodes: dict[tuple[int, int | str, int], int] = {}
        self._by_line: dict[tuple[int, int, int], int] = {}
        self._numbers: dict[Function, int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}  # nodes of full stacks, which often repeat
        self._codes: list[CodeType] = []  # kept alive, so that their ids are not reused
        self._ours: dict[int, bool | None] = {}

    def is_ours(self, code: CodeType) -> bool | None:
        """Whether a function belongs to Sonde; None for a wrapper around another function."""
        try:
            return self._ours[id(code)]
        except KeyError:
            file = code.co_filename
            ours: bool | None = file.startswith(_OURS) and not file.startswith(_DEMO)
            if ours and not _WRAPPED.isdisjoint((*code.co_freevars, *code.co_names)):
                ours = None
            self._codes.append(code)
            self._ours[id(code)] = ours
            return ours

    def node(self, parent: int, code: CodeType, offset: int) -> int:
        """The node of an instruction of a function; offset -1 is the function itself."""
        try:
            return self._nodes[parent, id(code), offset]
        except KeyError:
            self._codes.append(code)
            function = Function(code.co_qualname, code.co_filename, code.co_firstlineno)
            line = code.co_firstlineno if offset < 0 else _line_at(code, offset)
            return self._add((parent, id(code), offset), function, line)

    def built_in(self, parent: int, name: str, frame: FrameType) -> int:
        """The node of a built-in function, with the line that calls it."""
        try:
            return self._nodes[parent, name, -1]
        except KeyError:
            return self._add((parent, name, -1), Function(name), frame.f_lineno)

    def stack(self, frame: FrameType | None) -> int:
        """The node of a thread's stack; `OURS` while it runs Sonde's own code."""
        codes: list[CodeType] = []
        offsets: list[int] = []
        while frame is not None:
            codes.append(frame.f_code)
            offsets.append(frame.f_lasti)
            frame = frame.f_back
        key = (*map(id, codes), *offsets)
        node = self._stacks.get(key)
        if node is None:
            if len(self._stacks) >= _MAX_STACKS:
                self._stacks.clear()
            node = self._stacks[key] = self._find(codes, offsets)
        return node

    def _find(self, codes: list[CodeType], offsets: list[int]) -> int:
        node = ROOT
        for code, offset in zip(reversed(codes), reversed(offsets), strict=True):
            ours = self.is_ours(code)
            if ours:
                return OURS
            if ours is False:
                node = self.node(node, code, offset)
        return node

    def _add(self, key: tuple[int, int | str, int], function: Function, line: int) -> int:
        """Add a node per line; returns the caller's node if the tree is full."""
        number = self._numbers.setdefault(function, len(self._numbers))
        if number == len(self.functions):
            self.functions.append(function)
        parent = key[0]
        node = self._by_line.get((parent, number, line))
        if node is None:
            if len(self.parents) >= _MAX_NODES and parent != ROOT:
                self.is_cut = True
                return parent
            node = self._by_line[parent, number, line] = len(self.parents)
            self.parents.append(parent)
            self.node_functions.append(number)
            self.lines.append(line)
        self._nodes[key] = node
        return node


def _line_at(code: CodeType, offset: int) -> int:
    """The line of an instruction, as in tracebacks."""
    for first, last, line in code.co_lines():
        if first <= offset < last and line is not None:
            return line
    return code.co_firstlineno
