"""Where Python spends its time: `stacks` of all threads, or every call of the training thread."""

import json
import sys
from dataclasses import astuple, fields
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
from sonde.store.blobs import encode_blob, zipped

_INTERVAL_NS = 1_000_000
_ENOUGH_LOOKS = 100
_TOOLS = ("a debugger", "coverage", "another profiler")  # of sys.monitoring, by their numbers

Choice = TypeVar("Choice", bound=StrEnum)


class Python(Profiler):
    """Functions that take the time of a step.

    Options: `profiler` (`stacks` or `cprofile`), `timer` of cprofile (`total`, `cpu`, `off_cpu`).
    """

    _running: StackSampler | CallCounter | None = None
    _step = 0
    _windows = 0

    def begin(self, window: Window) -> str | None:
        """Switches on, unless somebody else traces or profiles this process."""
        try:
            running = self._chosen(window)
        except UsageError as error:
            return str(error)
        reason = somebody_else()
        if reason is None:
            self._step = window.start_step or 0
            self._running = running
            running.start()
        return reason

    def has_enough(self) -> bool:
        """Whether stacks were looked at often enough: three short steps say little."""
        running = self._running
        return not isinstance(running, StackSampler) or running.looks >= _ENOUGH_LOOKS

    def end(self, _window: Window) -> None:
        """Switches off; the backroom writes what was seen."""
        running, self._running = self._running, None
        if running is None:
            return
        was_alone = running.end() is not False
        if not was_alone:
            reason = "the script has started a profiler of its own"
            self.session.store.notice(NoticeKind.NOT_COLLECTED, "calls of Python", reason)
        step, self._windows = self._step, self._windows + 1
        number = self._windows
        self.session.worker_thread.hand(
            "the profile of Python", lambda: self._write(running.profile(), step, number)
        )

    def _chosen(self, window: Window) -> StackSampler | CallCounter:
        options, session = window.options, self.session
        profiler = _known(
            PythonProfiler, "profiler", options.get("profiler", PythonProfiler.STACKS)
        )
        timer = _known(PythonTimer, "timer", options.get("timer", PythonTimer.TOTAL))
        if profiler is PythonProfiler.CPROFILE:
            return CallCounter(session.clock, session.guard, timer)
        return StackSampler(session.clock, session.guard, _INTERVAL_NS)

    def _write(self, profile: PythonProfile, step: int, number: int) -> None:
        session = self.session
        assert session.store.info is not None
        token = f"{session.store.writer.token}_{number}"
        key = layout.profile_key(session.store.info.rank, ProfileKind.PYTHON.value, step, token)
        key += layout.TRACE_SUFFIX
        data = encode_blob(zipped(encode_profile(profile), key))
        session.store.backend.write(key, data)
        session.store.add_value_bytes(len(data))
        if profile.profiler is PythonProfiler.STACKS:
            for row in slices(profile):
                session.recorder.operation(row)


def somebody_else() -> str | None:
    """Who traces or profiles this thread already, and would spoil our numbers, or we theirs."""
    if sys.gettrace() is not None:
        return f"a debugger or coverage is at work ({_name(sys.gettrace())})"
    if sys.getprofile() is not None:
        return f"another profiler is at work ({_name(sys.getprofile())})"
    if sys.version_info >= (3, 12):
        for number, what in enumerate(_TOOLS):
            name = sys.monitoring.get_tool(number)
            if name is not None:
                return f"{what} is at work ({name})"
    return None


def encode_profile(profile: PythonProfile) -> bytes:
    """As plain JSON; a function is its name, file and line."""
    document = {one.name: getattr(profile, one.name) for one in fields(profile)}
    document["functions"] = [astuple(one) for one in profile.functions]
    return json.dumps(document, separators=(",", ":")).encode()


def _known(choices: type[Choice], what: str, text: str) -> Choice:
    try:
        return choices(text)
    except ValueError as error:
        raise UsageError(f"There is no {what} {text!r}. Known: {', '.join(choices)}") from error


def _name(function: object) -> str:
    kind = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', '')}".strip(".")
