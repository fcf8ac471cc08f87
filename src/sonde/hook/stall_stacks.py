"""Where training stands while nothing goes on: seen from behind, when a step is far too long."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from sonde.records.observation import ObservationKind

if TYPE_CHECKING:
    from sonde.hook.session import Session

_FIRST_SECONDS = 3.0  # then after twice as long, again and again
_TIMES_STEP = 20.0  # what the step before took: slow steps are no standing still
_DEEPEST = 64
_TOLD = 12  # frames
_OURS = str(Path(__file__).parents[1])
_INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen")
# Which part of the framework somebody stands in, the first that fits from the innermost frame out.
_PARTS = (
    ("compiling", ("/torch/_dynamo/", "/torch/_inductor/")),
    ("checkpoint", ("/torch/serialization.py", "/torch/distributed/checkpoint/")),
    ("collective", ("/torch/distributed/",)),
    ("loading", ("/torch/utils/data/",)),
    ("backward", ("/torch/autograd/", "/torch/_tensor.py")),
    ("device", ("/torch/cuda/",)),
)

_frames: Callable[[], dict[int, FrameType]] = vars(sys)["_current_frames"]


class Standing:
    """Looks at the training thread when no step has ended for long; called in the backroom."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        session.listeners.on_begin(self._begin)
        session.listeners.before_flush(session.guard.shield("where it stands", self._look, None))

    def _begin(self) -> None:
        self._counts = dict(self._session.steps.counts)
        self._since = self._session.clock.seconds()
        self._due = _FIRST_SECONDS
        self._is_told = False

    def _look(self) -> None:
        session, counts = self._session, dict(self._session.steps.counts)
        if counts != self._counts:
            if self._is_told:
                session.recorder.observe(ObservationKind.STANDING_STILL, "")
            self._begin()
            return
        stands = session.clock.seconds() - self._since
        if stands < max(self._due, _TIMES_STEP * session.steps.latest_seconds):
            return
        self._due = max(2 * self._due, stands)
        frame = _frames().get(session.thread.id)
        if frame is not None:
            self._is_told = True
            place, detail = described(frame)
            session.recorder.observe(ObservationKind.STANDING_STILL, place, stands, detail)


def described(innermost: FrameType) -> tuple[str, str]:
    """The script's own line that it stands in, and the part of the framework with the stack."""
    frames: list[tuple[str, int, str]] = []
    frame: FrameType | None = innermost
    while frame is not None and len(frames) < _DEEPEST:
        file = frame.f_code.co_filename
        if not file.startswith(_OURS):
            frames.append((file, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    own = [one for one in frames if not any(part in one[0] for part in _INSTALLED)]
    stack = [_label(*one) for one in reversed(frames[:_TOLD])]
    part = next((part for file, _, _ in frames if (part := _part_of(file))), "")
    return _label(*own[0]) if own else "", json.dumps({"in": part, "stack": stack})


def _part_of(file: str) -> str:
    return next((part for part, files in _PARTS if any(one in file for one in files)), "")


def _label(file: str, line: int, function: str) -> str:
    return f"{function} ({Path(file).name}:{line})"
