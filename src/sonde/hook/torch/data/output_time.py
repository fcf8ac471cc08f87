"""Time that the training thread spends on output: printing, logging, progress bars, summaries.

Every call is timed. The script line is looked up once per millisecond of output, so that many short
calls cost little.
"""

import builtins
import importlib
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from sys import _getframe
from types import FrameType
from typing import Any

import torch

from sonde.clock import NANOSECONDS
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.torch.patching.patches import Patches
from sonde.records.observation import ObservationKind
from sonde.records.observations.training import OutputSource

TASK = "time spent on output"
_LOOKUP_NS = 1_000_000  # output time between two lookups
_MAX_LINES = 8  # recorded per flush
_MAX_DEPTH = 48
_OURS = str(Path(__file__).parents[3])
_INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen")

# Methods of libraries that scripts may have imported when training begins.
_LATE_IMPORTS = (
    ("tqdm", "tqdm.std", "tqdm", ("display",)),
    (
        "tensorboard",
        "torch.utils.tensorboard.writer",
        "SummaryWriter",
        (
            *("add_scalar", "add_scalars", "add_histogram", "add_image", "add_images"),
            *("add_figure", "add_text", "add_embedding", "flush"),
        ),
    ),
    ("wandb", "wandb.sdk.wandb_run", "Run", ("log",)),
)


class OutputTime:
    """Sums output time by script line and records it with every flush."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._patches: Patches | None = None
        self._wrapped: set[str] = set()
        self._is_inside = False
        self._seconds: dict[tuple[str, str], float] = {}  # by line and kind of output
        self._pending_ns = 0
        self._look_up = session.guard.shield(TASK, self._assign, None)
        session.listeners.on_begin(self._begin)
        session.listeners.before_flush(session.guard.shield(TASK, self._report, None))

    def attach(self, patches: Patches) -> None:
        """Wrap the functions of Python and PyTorch."""
        self._patches = patches
        tensor_texts = importlib.import_module("torch._tensor_str")
        patches.wrap(builtins, "print", self._wrapper_for("print"))
        patches.wrap(logging.Logger, "handle", self._wrapper_for("logging"))
        patches.wrap(tensor_texts, "_str", self._wrapper_for("formatting a tensor"))

    def _begin(self) -> None:
        """Wrap libraries that the script has imported before training."""
        self._seconds, self._pending_ns, self._is_inside = {}, 0, False
        for what, module, owner, names in _LATE_IMPORTS:
            kind = getattr(sys.modules.get(module), owner, None)
            if kind is None or what in self._wrapped or self._patches is None:
                continue
            self._wrapped.add(what)
            for name in names:
                self._patches.wrap(kind, name, self._wrapper_for(what))

    def _wrapper_for(self, what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        now_ns, get_ident = self._session.clock.now_ns, threading.get_ident
        state, thread = self._session.state, self._session.thread
        is_compiling = torch.compiler.is_compiling

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def timed(*args: Any, **kwargs: Any) -> Any:
                try:
                    if is_compiling() or not state.is_on or self._is_inside:
                        return original(*args, **kwargs)
                    if get_ident() != thread.id:
                        return original(*args, **kwargs)
                    self._is_inside = True
                    start_ns = now_ns()
                    try:
                        return original(*args, **kwargs)
                    finally:
                        self._is_inside = False
                        self._pending_ns += now_ns() - start_ns
                        if self._pending_ns >= _LOOKUP_NS:
                            self._look_up(what)
                except BaseException as error:
                    drop_frame(error)
                    raise

            return timed

        return make

    def _assign(self, what: str) -> None:
        """Assign output time since the last lookup to the current line."""
        spent_ns, self._pending_ns = self._pending_ns, 0
        key = (line_of(_getframe(1)), what)
        self._seconds[key] = self._seconds.get(key, 0.0) + spent_ns / NANOSECONDS

    def _report(self) -> None:
        seconds, self._seconds = self._seconds, {}
        largest = sorted(seconds.items(), key=lambda item: -item[1])[:_MAX_LINES]
        for (line, what), spent in largest:
            detail = OutputSource(what).encode()
            self._session.recorder.observe(ObservationKind.OUTPUT_TIME, line, spent, detail)


def line_of(frame: FrameType | None) -> str:
    """The innermost line of the script, or an empty string."""
    for _ in range(_MAX_DEPTH):
        if frame is None:
            break
        file = frame.f_code.co_filename
        if not file.startswith(_OURS) and not any(folder in file for folder in _INSTALLED):
            return f"{frame.f_code.co_name} ({Path(file).name}:{frame.f_lineno})"
        frame = frame.f_back
    return ""
