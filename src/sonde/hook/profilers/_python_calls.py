"""Count and time every call of the training thread.

It counts like cProfile, which is not used for three reasons: since Python 3.12, it mixes the calls
of all threads; it does not separate steps and phases; and its times include the cost of counting.
Here, the clock is stopped while counting.
"""

import inspect
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from sonde.clock import Clock, thread_cpu_ns, ticks_ns
from sonde.guard import Guard
from sonde.hook.profilers._python_tree import ROOT, TRAINING, CallTree
from sonde.records.python_profile import PythonProfile, PythonProfiler, PythonTimer

_MAX_ROWS = 200_000
_GENERATED = "pybind11_"  # prefix of the reported class of functions bound by pybind11

# An exception of the profile function would be raised in the middle of the user's training.
_FAILURES = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError)


def _off_cpu_ns() -> int:
    return ticks_ns() - thread_cpu_ns()


_TIMERS: dict[PythonTimer, Callable[[], int]] = {
    PythonTimer.TOTAL: ticks_ns,
    PythonTimer.CPU: thread_cpu_ns,
    PythonTimer.OFF_CPU: _off_cpu_ns,
}


class _CallNode:
    """A function called from one caller, and its calls and time in the current segment."""

    __slots__ = (
        *("calls", "children", "code", "is_counted", "is_excluded", "is_ours", "node", "ns"),
        "segment",
    )

    def __init__(self, code: CodeType | None, node: int, ours: bool | None) -> None:
        self.code = code  # None for built-in functions
        self.node = node
        self.is_ours = bool(ours)  # also for everything that it calls
        self.is_excluded = ours is not False  # also for wrappers around functions of the user
        self.is_counted = True  # False if its time is added to its caller
        self.children: dict[object, _CallNode] = {}
        self.calls = 0
        self.ns = 0
        self.segment = -1


class _Segments:
    """Calls and time per segment; a segment ends where a phase may begin or end."""

    def __init__(self, now_ns: int) -> None:
        self.rows: list[tuple[int, int, int, int]] = []  # segment, node, calls, nanoseconds
        self.middles_ns: list[int] = []
        self.excluded_ns = 0
        self.start(now_ns)

    def start(self, now_ns: int) -> None:
        """Begin the first segment."""
        self.start_ns = self._began_ns = self.end_ns = now_ns

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of rows is reached."""
        return len(self.rows) >= _MAX_ROWS

    def add(self, nodes: "list[_CallNode]", now_ns: int) -> None:
        """End the current segment and reset the nodes that it touched."""
        number = len(self.middles_ns)
        for node in nodes:
            if node.is_excluded:
                self.excluded_ns += node.ns
            else:
                calls = node.calls if node.is_counted else 0
                self.rows.append((number, node.node, calls, node.ns))
            node.calls = node.ns = 0
        if self.rows and self.rows[-1][0] == number:
            self.middles_ns.append((self._began_ns + now_ns) // 2)
        self._began_ns = self.end_ns = now_ns


class CallCounter:
    """Counts the calls of the thread that starts it, until `end`."""

    def __init__(self, clock: Clock, guard: Guard, timer: PythonTimer) -> None:
        self._clock = clock
        self._guard = guard
        self._timer = timer
        self._read = _TIMERS[timer]
        self._tree = CallTree()
        self._root = self._top = _CallNode(None, ROOT, ours=True)
        self._root.is_ours = False
        self._stack: list[_CallNode] = []
        self._segment = 0
        self._touched: list[_CallNode] = []
        self._segments = _Segments(clock.now_ns())
        self._last = 0
        self._is_over = False
        self._hook = self._on_event  # one bound method, so that it can be recognized

    def start(self) -> None:
        """Start, in the training thread."""
        frames: list[FrameType] = []
        frame = inspect.currentframe()
        while frame is not None and (frame := frame.f_back) is not None:
            frames.append(frame)
        for outer in reversed(frames):
            self._stack.append(self._top)
            self._top = self._make_node(outer.f_code)
        self._segments.start(self._clock.now_ns())
        self._last = self._read()
        sys.setprofile(self._hook)

    def end(self) -> bool:
        """Stop counting; return whether no other profiler has replaced it."""
        was_on = sys.getprofile() is self._hook
        if was_on:
            sys.setprofile(None)
        was_full = self._is_over
        if not was_full:
            self._end_segment()
        self._is_over = True
        return was_on or was_full

    def profile(self) -> PythonProfile:
        """The recorded profile."""
        segments = self._segments
        columns = [tuple(column) for column in zip(*segments.rows, strict=True)] or [()] * 4
        return PythonProfile(
            profiler=PythonProfiler.CPROFILE,
            timer=self._timer,
            start_ns=segments.start_ns,
            end_ns=segments.end_ns,
            functions=tuple(self._tree.functions),
            parents=tuple(self._tree.parents),
            node_functions=tuple(self._tree.node_functions),
            node_lines=tuple(self._tree.lines),
            threads=(TRAINING,),
            times_ns=tuple(segments.middles_ns),
            row_times=columns[0],
            row_threads=(0,) * len(segments.rows),
            row_nodes=columns[1],
            row_counts=columns[2],
            row_ns=columns[3],
            own_ns=segments.excluded_ns,
            is_cut=segments.is_full or self._tree.is_cut,
        )

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> None:
        now, top = self._read(), self._top
        try:
            if top.segment != self._segment:
                top.segment = self._segment
                self._touched.append(top)
            top.ns += now - self._last
            if event == "call":
                code = frame.f_code
                self._enter(top, top.children.get(id(code)) or self._make_node(code))
            elif event == "return":
                self._leave(top, frame.f_code)
            elif event == "c_call":
                key = (argument.__module__, argument.__qualname__)
                self._enter(top, top.children.get(key) or self._built_in(key, frame))
            else:
                self._leave(top, None)
        except _FAILURES as error:
            self._give_up(error)
        self._last = self._read()

    def _enter(self, caller: _CallNode, callee: _CallNode) -> None:
        self._stack.append(caller)
        self._top = callee
        callee.calls += 1
        if callee.is_excluded is not caller.is_excluded:
            self._end_segment()

    def _leave(self, top: _CallNode, code: CodeType | None) -> None:
        stack = self._stack
        if top.code is not code:
            if all(outer.code is not code for outer in stack) or code is None:
                return  # called before counting started
            while stack[-1].code is not code:
                stack.pop()
            stack.pop()
        caller = self._top = stack.pop() if stack else self._root
        if caller.is_excluded is not top.is_excluded:
            self._end_segment()

    def _make_node(self, code: CodeType) -> _CallNode:
        top = self._top
        ours = top.is_ours or self._tree.is_ours(code)
        node = self._tree.node(top.node, code, -1) if ours is False else top.node
        return self._register(id(code), _CallNode(code, node, ours))

    def _built_in(self, key: tuple[str | None, str], frame: FrameType) -> _CallNode:
        top, (module, name) = self._top, key
        if top.is_ours:
            node = top.node
        else:
            name = name.rpartition(".")[2] if name.startswith(_GENERATED) else name
            full_name = name if module in (None, "builtins") else f"{module}.{name}".rstrip(".")
            node = self._tree.built_in(top.node, full_name, frame)
        return self._register(key, _CallNode(None, node, top.is_ours))

    def _register(self, key: object, callee: _CallNode) -> _CallNode:
        """Add a callee to its caller, unless the tree has no room for it."""
        if callee.is_excluded or callee.node != self._top.node:
            self._top.children[key] = callee
        else:
            callee.is_counted = False
        return callee

    def _end_segment(self) -> None:
        """End the segment, since a phase may begin or end here."""
        self._segments.add(self._touched, self._clock.now_ns())
        self._touched = []
        self._segment += 1
        self._is_over |= self._segments.is_full
        if self._is_over:
            sys.setprofile(None)

    def _give_up(self, error: Exception) -> None:
        sys.setprofile(None)

        def fail() -> None:
            raise error

        self._guard.call("Python calls", fail, None)


def stop_in_child() -> None:
    """Remove the profile function that a forked child inherits from the forking thread."""
    if isinstance(getattr(sys.getprofile(), "__self__", None), CallCounter):
        sys.setprofile(None)


os.register_at_fork(after_in_child=stop_in_child)
