"""Samples the Python stack of a thread while it makes a batch."""

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType

from sonde.clock import Clock

_INTERVAL_SECONDS = 0.001
_SAMPLES_PER_INTERVAL = 1000  # the interval grows after every 1,000 samples
_MAX_DEPTH = 48
_MAX_STACKS = 48
_OURS = str(Path(__file__).parents[3])
_STANDARD_LIBRARY = str(Path(os.__file__).parent)
_INSTALLED = f"{os.sep}site-packages{os.sep}"
_FETCHER = str(Path("torch", "utils", "data", "_utils", "fetch.py"))
# methods that are often inherited, labeled with the class of the object
_INHERITED_METHODS = {
    "__call__",
    "__getitem__",
    "__getitems__",
    "__iter__",
    "_call_impl",
    "forward",
}

_frames: Callable[[], dict[int, FrameType]] = vars(sys)["_current_frames"]

Stack = tuple[str, ...]  # outermost function first
_Key = tuple[tuple[CodeType, str], ...]


class Stacks:
    """Samples one thread until stopped.

    Each sample counts for the time since the previous one, so that a thread that holds the GIL is
    not underrepresented.
    """

    def __init__(self, clock: Clock, thread_id: int) -> None:
        self._clock = clock
        self._thread_id = thread_id
        self._is_over = threading.Event()
        self._spent_ns: Counter[_Key] = Counter()
        self._thread = threading.Thread(target=self._run, name="sonde-loader", daemon=True)

    def start(self) -> None:
        """Start sampling, unless no thread can be started."""
        with suppress(RuntimeError):
            self._thread.start()

    def stop(self) -> list[tuple[Stack, int]]:
        """Stop sampling; return the time per stack, longest first."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        spent: Counter[Stack] = Counter()
        for key, spent_ns in self._spent_ns.items():
            spent[tuple(_label(code, owner) for code, owner in key)] += spent_ns
        return spent.most_common(_MAX_STACKS)

    def _run(self) -> None:
        before_ns, samples = self._clock.now_ns(), 0
        pause = _INTERVAL_SECONDS
        while not self._clock.wait(self._is_over, pause):
            samples += 1
            pause = _INTERVAL_SECONDS * (1 + samples // _SAMPLES_PER_INTERVAL)
            key = _stack(_frames().get(self._thread_id))
            now_ns = self._clock.now_ns()
            if key:
                self._spent_ns[key] += now_ns - before_ns
            before_ns = now_ns


def _stack(frame: FrameType | None) -> _Key:
    """The frames below the fetcher, outermost first."""
    frames: list[tuple[CodeType, str]] = []
    while frame is not None and not frame.f_code.co_filename.endswith(_FETCHER):
        if not frame.f_code.co_filename.startswith(_OURS):
            frames.append((frame.f_code, _owner(frame)))
        frame = frame.f_back
    return tuple(reversed(frames))[:_MAX_DEPTH] if frame is not None else ()


def _owner(frame: FrameType) -> str:
    """The class name of the object that an inherited method is called on."""
    code = frame.f_code
    if code.co_name not in _INHERITED_METHODS or code.co_varnames[:1] != ("self",):
        return ""
    return type(frame.f_locals.get("self")).__name__


def _label(code: CodeType, owner: str) -> str:
    name = f"{owner}.{code.co_name}" if owner else code.co_qualname.replace("<locals>.", "")
    return f"{name} ({_short_path(code.co_filename)}:{code.co_firstlineno})"


def _short_path(file: str) -> str:
    """The path without its machine-specific prefix."""
    _, is_installed, rest = file.rpartition(_INSTALLED)
    if is_installed:
        return f"site-packages/{rest}"
    if file.startswith(_STANDARD_LIBRARY):
        return f"python{file.removeprefix(_STANDARD_LIBRARY)}"
    return Path(file).name
