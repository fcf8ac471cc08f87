"""The tree of calls that a profile of Python grows, bounded; our own functions stay out of it."""

import os
from pathlib import Path
from types import CodeType, FrameType

from sonde.records.python_profile import Function

TRAINING = "training"  # the thread that trains
ROOT = -1
OURS = -2  # instead of a node: our own code is at work
_MOST_NODES = 50_000
_MOST_STACKS = 5_000
_PACKAGE = Path(__file__).parents[2]
_OURS = f"{_PACKAGE}{os.sep}"
_DEMO = f"{_PACKAGE / 'show'}{os.sep}"  # holds a training script: no part of us at work
# what our wrappers call the function of others that they stand for
_WRAPPED = frozenset(("original", "closure", "compiled", "module_of"))


class CallTree:
    """Nodes by their parent, their code and the place in it."""

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self.parents: list[int] = []
        self.node_functions: list[int] = []
        self.lines: list[int] = []
        self.is_cut = False
        self._nodes: dict[tuple[int, int | str, int], int] = {}
        self._by_line: dict[tuple[int, int, int], int] = {}
        self._numbers: dict[Function, int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}  # whole ones: most are seen again and again
        self._codes: list[CodeType] = []  # held, so that no other gets the same identity
        self._ours: dict[int, bool | None] = {}

    def is_ours(self, code: CodeType) -> bool | None:
        """Whether a function is ours; None where it is one that only stands for another."""
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

    def node(self, parent: int, code: CodeType, place: int) -> int:
        """A place in a function: its instruction, or -1 for the function as a whole."""
        try:
            return self._nodes[parent, id(code), place]
        except KeyError:
            self._codes.append(code)
            function = Function(code.co_qualname, code.co_filename, code.co_firstlineno)
            line = code.co_firstlineno if place < 0 else _line_at(code, place)
            return self._add((parent, id(code), place), function, line)

    def built_in(self, parent: int, name: str, frame: FrameType) -> int:
        """A function without code of its own, and the line that calls it."""
        try:
            return self._nodes[parent, name, -1]
        except KeyError:
            return self._add((parent, name, -1), Function(name), frame.f_lineno)

    def stack(self, frame: FrameType | None) -> int:
        """The node at which a thread stands; `OURS` where it is at our work."""
        codes: list[CodeType] = []
        places: list[int] = []
        while frame is not None:
            codes.append(frame.f_code)
            places.append(frame.f_lasti)
            frame = frame.f_back
        key = (*map(id, codes), *places)
        node = self._stacks.get(key)
        if node is None:
            if len(self._stacks) >= _MOST_STACKS:
                self._stacks.clear()
            node = self._stacks[key] = self._find(codes, places)
        return node

    def _find(self, codes: list[CodeType], places: list[int]) -> int:
        node = ROOT
        for code, place in zip(reversed(codes), reversed(places), strict=True):
            ours = self.is_ours(code)
            if ours:
                return OURS
            if ours is False:
                node = self.node(node, code, place)
        return node

    def _add(self, key: tuple[int, int | str, int], function: Function, line: int) -> int:
        """Two instructions of one line are one node; what finds no room stays with its caller."""
        number = self._numbers.setdefault(function, len(self._numbers))
        if number == len(self.functions):
            self.functions.append(function)
        parent = key[0]
        node = self._by_line.get((parent, number, line))
        if node is None:
            if len(self.parents) >= _MOST_NODES and parent != ROOT:
                self.is_cut = True
                return parent
            node = self._by_line[parent, number, line] = len(self.parents)
            self.parents.append(parent)
            self.node_functions.append(number)
            self.lines.append(line)
        self._nodes[key] = node
        return node


def _line_at(code: CodeType, place: int) -> int:
    """The line of an instruction, as tracebacks have it."""
    for first, last, line in code.co_lines():
        if first <= place < last and line is not None:
            return line
    return code.co_firstlineno
