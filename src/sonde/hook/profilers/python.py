"""Where Python spends its time: sampled stacks of all threads, or calls of the training thread."""

import sys
from enum import StrEnum
from typing import TypeVar

from sonde.errors import UsageError
from sonde.hook.profilers._profiler import Profiler
from sonde.hook.profilers._python_calls import CallCounter
from sonde.hook.profilers._python_slices import slices
from sonde.hook.profilers._python_stacks import StackSampler
from sonde.records.notice import NoticeKind
from sonde.records.profile import ProfileKind, Window
from sonde.records.python_profile import PythonProfile, PythonProfiler, PythonTimer
from sonde.store import layout
from sonde.store.python_profiles import encode_profile

_INTERVAL_NS = 1_000_000
_ENOUGH_SAMPLES = 100
_TOOLS = ("a debugger", "coverage", "another profiler")  # by tool id of sys.monitoring

Choice = TypeVar("Choice", bound=StrEnum)


class Python(Profiler):
    """Records the time of Python functions.

    Options: `profiler` (`stacks` or `cprofile`), and for cprofile `timer` (`total`, `cpu` or
    `off_cpu`).
    """

    _running: StackSampler | CallCounter | None = None
    _step = 0
    _windows = 0

    def begin(self, window: Window) -> str | None:
        """Start, unless another tool traces or profiles this process."""
        try:
            running = self._make_profiler(window)
        except UsageError as error:
            return str(error)
        reason = other_tool()
        if reason is None:
            self._step = window.start_step or 0
            self._running = running
            running.start()
        return reason

    def has_enough(self) -> bool:
        """Whether there are enough stack samples: three short steps yield few."""
        running = self._running
        return not isinstance(running, StackSampler) or running.samples >= _ENOUGH_SAMPLES

    def end(self, _window: Window) -> None:
        """Stop; the worker thread writes the profile."""
        running, self._running = self._running, None
        if running is None:
            return
        is_complete = running.end() is not False
        if not is_complete:
            reason = "the script started another profiler"
            self.session.store.notice(NoticeKind.NOT_COLLECTED, "Python calls", reason)
        step, self._windows = self._step, self._windows + 1
        number = self._windows
        self.session.worker_thread.submit(
            "Python profile", lambda: self._write(running.profile(), step, number)
        )

    def _make_profiler(self, window: Window) -> StackSampler | CallCounter:
        options, session = window.options, self.session
        name = options.get("profiler", PythonProfiler.STACKS)
        profiler = _parse(PythonProfiler, "profiler", name)
        timer = _parse(PythonTimer, "timer", options.get("timer", PythonTimer.TOTAL))
        if profiler is PythonProfiler.CPROFILE:
            return CallCounter(session.clock, session.guard, timer)
        return StackSampler(session.clock, session.guard, _INTERVAL_NS)

    def _write(self, profile: PythonProfile, step: int, number: int) -> None:
        session = self.session
        assert session.store.info is not None
        token = f"{session.store.writer.token}_{number}"
        key = layout.profile_key(session.store.info.rank, ProfileKind.PYTHON.value, step, token)
        key += layout.TRACE_SUFFIX
        data = encode_profile(profile, key)
        session.store.backend.write(key, data)
        session.store.add_value_bytes(len(data))
        if profile.profiler is PythonProfiler.STACKS:
            for row in slices(profile):
                session.recorder.operation(row)


def other_tool() -> str | None:
    """The reason why this thread cannot be profiled: another tool traces it already."""
    if sys.gettrace() is not None:
        return f"a debugger or coverage is running ({_name(sys.gettrace())})"
    if sys.getprofile() is not None:
        return f"another profiler is running ({_name(sys.getprofile())})"
    if sys.version_info >= (3, 12):
        for number, kind in enumerate(_TOOLS):
            name = sys.monitoring.get_tool(number)
            if name is not None:
                return f"{kind} is running ({name})"
    return None


def _parse(choices: type[Choice], option: str, text: str) -> Choice:
    try:
        return choices(text)
    except ValueError as error:
        names = ", ".join(choices)
        raise UsageError(f"{option} = {text!r} is invalid. Choose one of: {names}") from error


def _name(function: object) -> str:
    kind = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', '')}".strip(".")
