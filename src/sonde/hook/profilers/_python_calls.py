"""Every call of the training thread, counted and timed.

It counts as cProfile does. That one is not used because from Python 3.12 on it takes the calls of
all threads for calls of one; because it knows neither steps nor phases; and because the time that
counting takes is in its numbers. Here the clock stands still meanwhile.
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

_MOST_ROWS = 200_000
_GENERATED = "pybind11_"  # the class that a function bound by pybind11 is said to belong to

# A profile function that raises is an exception in the middle of somebody's training.
_FAILURES = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError)


def _off_cpu_ns() -> int:
    return ticks_ns() - thread_cpu_ns()


_TIMERS: dict[PythonTimer, Callable[[], int]] = {
    PythonTimer.TOTAL: ticks_ns,
    PythonTimer.CPU: thread_cpu_ns,
    PythonTimer.OFF_CPU: _off_cpu_ns,
}


class _Place:
    """A function as it is called from another place, and what it has taken in this segment."""

    __slots__ = (
        *("calls", "children", "code", "is_counted", "is_left_out", "is_ours", "node", "ns"),
        "segment",
    )

    def __init__(self, code: CodeType | None, node: int, ours: bool | None) -> None:
        self.code = code  # None for what is built in
        self.node = node
        self.is_ours = bool(ours)  # and so is whatever it calls
        self.is_left_out = ours is not False  # also a wrapper of ours around somebody's function
        self.is_counted = True  # not where it stands for its caller
        self.children: dict[object, _Place] = {}
        self.calls = 0
        self.ns = 0
        self.segment = -1


class CallCounter:
    """Counts the calls of the thread that starts it until it is told to end."""

    def __init__(self, clock: Clock, guard: Guard, timer: PythonTimer) -> None:
        self._clock = clock
        self._guard = guard
        self._timer = timer
        self._read = _TIMERS[timer]
        self._tree = CallTree()
        self._root = self._top = _Place(None, ROOT, ours=True)
        self._root.is_ours = False
        self._stack: list[_Place] = []
        self._segment = 0
        self._touched: list[_Place] = []
        self._middles_ns: list[int] = []
        self._rows: list[tuple[int, int, int, int]] = []  # segment, node, calls, nanoseconds
        self._own_ns = self._last = 0
        self._start_ns = self._began_ns = self._end_ns = clock.now_ns()
        self._is_over = False
        self._hook = self._on_event  # to be known again

    def start(self) -> None:
        """Begins, in the thread that trains."""
        frames: list[FrameType] = []
        frame = inspect.currentframe()
        while frame is not None and (frame := frame.f_back) is not None:
            frames.append(frame)
        for one in reversed(frames):
            self._stack.append(self._top)
            self._top = self._place_of(one.f_code)
        self._start_ns = self._began_ns = self._clock.now_ns()
        self._last = self._read()
        sys.setprofile(self._hook)

    def end(self) -> bool:
        """Counts no more; whether it was still at work, and nobody has taken its place."""
        was_on = sys.getprofile() is self._hook
        if was_on:
            sys.setprofile(None)
        was_full = self._is_over
        if not was_full:
            self._cut()
        self._is_over = True
        return was_on or was_full

    def profile(self) -> PythonProfile:
        """Everything that was counted."""
        columns = [tuple(column) for column in zip(*self._rows, strict=True)] or [()] * 4
        return PythonProfile(
            profiler=PythonProfiler.CPROFILE,
            timer=self._timer,
            start_ns=self._start_ns,
            end_ns=self._end_ns,
            functions=tuple(self._tree.functions),
            parents=tuple(self._tree.parents),
            node_functions=tuple(self._tree.node_functions),
            node_lines=tuple(self._tree.lines),
            threads=(TRAINING,),
            times_ns=tuple(self._middles_ns),
            row_times=columns[0],
            row_threads=(0,) * len(self._rows),
            row_nodes=columns[1],
            row_counts=columns[2],
            row_ns=columns[3],
            own_ns=self._own_ns,
            is_cut=len(self._rows) >= _MOST_ROWS or self._tree.is_cut,
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
                self._enter(top, top.children.get(id(code)) or self._place_of(code))
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

    def _enter(self, caller: _Place, place: _Place) -> None:
        self._stack.append(caller)
        self._top = place
        place.calls += 1
        if place.is_left_out is not caller.is_left_out:
            self._cut()

    def _leave(self, top: _Place, code: CodeType | None) -> None:
        stack = self._stack
        if top.code is not code:
            if all(one.code is not code for one in stack) or code is None:
                return  # it was called before anybody counted
            while stack[-1].code is not code:
                stack.pop()
            stack.pop()
        caller = self._top = stack.pop() if stack else self._root
        if caller.is_left_out is not top.is_left_out:
            self._cut()

    def _place_of(self, code: CodeType) -> _Place:
        top = self._top
        ours = top.is_ours or self._tree.is_ours(code)
        node = self._tree.node(top.node, code, -1) if ours is False else top.node
        return self._kept(id(code), _Place(code, node, ours))

    def _built_in(self, key: tuple[str | None, str], frame: FrameType) -> _Place:
        top, (module, name) = self._top, key
        if top.is_ours:
            node = top.node
        else:
            name = name.rpartition(".")[2] if name.startswith(_GENERATED) else name
            whole = name if module in (None, "builtins") else f"{module}.{name}".rstrip(".")
            node = self._tree.built_in(top.node, whole, frame)
        return self._kept(key, _Place(None, node, top.is_ours))

    def _kept(self, key: object, place: _Place) -> _Place:
        """A new place, to be found again; what finds no room in the tree is not kept."""
        if place.is_left_out or place.node != self._top.node:
            self._top.children[key] = place
        else:
            place.is_counted = False
        return place

    def _cut(self) -> None:
        """A phase may begin or end here: what was taken until now is kept apart."""
        now_ns = self._clock.now_ns()
        number = len(self._middles_ns)
        for place in self._touched:
            if place.is_left_out:
                self._own_ns += place.ns
            else:
                calls = place.calls if place.is_counted else 0
                self._rows.append((number, place.node, calls, place.ns))
            place.calls = place.ns = 0
        if self._rows and self._rows[-1][0] == number:
            self._middles_ns.append((self._began_ns + now_ns) // 2)
        self._touched = []
        self._segment += 1
        self._began_ns = self._end_ns = now_ns
        self._is_over |= len(self._rows) >= _MOST_ROWS
        if self._is_over:
            sys.setprofile(None)

    def _give_up(self, error: Exception) -> None:
        sys.setprofile(None)

        def fail() -> None:
            raise error

        self._guard.call("calls of Python", fail, None)


def stop_in_child() -> None:
    """A forked child inherits the hook of the thread that forked, and nobody would take it away."""
    if isinstance(getattr(sys.getprofile(), "__self__", None), CallCounter):
        sys.setprofile(None)


os.register_at_fork(after_in_child=stop_in_child)
