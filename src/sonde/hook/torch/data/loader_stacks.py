"""Where a thread is while it makes a batch: its Python stack, again and again."""

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType

from sonde.clock import Clock

_EVERY_SECONDS = 0.001
_SLOWER_AFTER = 1000  # looks at one batch: a long one is looked at less often
_DEEPEST = 48
_MOST_STACKS = 48
_OURS = str(Path(__file__).parents[3])
_STANDARD_LIBRARY = str(Path(os.__file__).parent)
_INSTALLED = f"{os.sep}site-packages{os.sep}"
_FETCHER = str(Path("torch", "utils", "data", "_utils", "fetch.py"))
# methods that often belong to a base class, while the script has named another one
_ASKED = {"__call__", "__getitem__", "__getitems__", "__iter__", "_call_impl", "forward"}

_frames: Callable[[], dict[int, FrameType]] = vars(sys)["_current_frames"]

Stack = tuple[str, ...]  # from the outermost function to the innermost
_Key = tuple[tuple[CodeType, str], ...]


class Stacks:
    """Looks at one thread until it is told to stop.

    A look counts for the time since the one before: a thread that lets nobody else run is not seen
    less for that.
    """

    def __init__(self, clock: Clock, thread_id: int) -> None:
        self._clock = clock
        self._thread_id = thread_id
        self._is_over = threading.Event()
        self._spent_ns: Counter[_Key] = Counter()
        self._thread = threading.Thread(target=self._run, name="sonde-loader", daemon=True)

    def start(self) -> None:
        """Begins to look, unless there are too many threads already."""
        with suppress(RuntimeError):
            self._thread.start()

    def stop(self) -> list[tuple[Stack, int]]:
        """Ends it; where the time was spent, the longest first."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        found: Counter[Stack] = Counter()
        for key, spent_ns in self._spent_ns.items():
            found[tuple(_label(code, owner) for code, owner in key)] += spent_ns
        return found.most_common(_MOST_STACKS)

    def _run(self) -> None:
        before_ns, looks = self._clock.now_ns(), 0
        pause = _EVERY_SECONDS
        while not self._clock.wait(self._is_over, pause):
            looks += 1
            pause = _EVERY_SECONDS * (1 + looks // _SLOWER_AFTER)
            key = _stack(_frames().get(self._thread_id))
            now_ns = self._clock.now_ns()
            if key:
                self._spent_ns[key] += now_ns - before_ns
            before_ns = now_ns


def _stack(frame: FrameType | None) -> _Key:
    """What runs inside of the batch's making, from the outside in."""
    found: list[tuple[CodeType, str]] = []
    while frame is not None and not frame.f_code.co_filename.endswith(_FETCHER):
        if not frame.f_code.co_filename.startswith(_OURS):
            found.append((frame.f_code, _owner(frame)))
        frame = frame.f_back
    return tuple(reversed(found))[:_DEEPEST] if frame is not None else ()


def _owner(frame: FrameType) -> str:
    """The class of the object that a method is called on: the one that a script has chosen."""
    code = frame.f_code
    if code.co_name not in _ASKED or code.co_varnames[:1] != ("self",):
        return ""
    return type(frame.f_locals.get("self")).__name__


def _label(code: CodeType, owner: str) -> str:
    name = f"{owner}.{code.co_name}" if owner else code.co_qualname.replace("<locals>.", "")
    return f"{name} ({_place(code.co_filename)}:{code.co_firstlineno})"


def _place(file: str) -> str:
    """The file without what differs between machines; a library's is one of site-packages."""
    _, is_installed, rest = file.rpartition(_INSTALLED)
    if is_installed:
        return f"site-packages/{rest}"
    if file.startswith(_STANDARD_LIBRARY):
        return f"python{file.removeprefix(_STANDARD_LIBRARY)}"
    return Path(file).name
