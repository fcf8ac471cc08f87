"""Record where training is stuck: sample its stack when a step takes far too long."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from sonde.records.observation import ObservationKind
from sonde.records.observations.training import Stall

if TYPE_CHECKING:
    from sonde.hook.session import Session

_FIRST_SECONDS = 3.0  # until the first sample; the time doubles for each further one
_STEP_FACTOR = 20.0  # a stall also exceeds this multiple of the previous step's duration
_MAX_DEPTH = 64
_MAX_RECORDED_FRAMES = 12
_OURS = str(Path(__file__).parents[1])
_INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen")
# Activities by source file; the innermost frame that matches one determines the activity.
_ACTIVITIES = (
    ("compiling", ("/torch/_dynamo/", "/torch/_inductor/")),
    ("checkpoint", ("/torch/serialization.py", "/torch/distributed/checkpoint/")),
    ("collective", ("/torch/distributed/",)),
    ("loading", ("/torch/utils/data/",)),
    ("backward", ("/torch/autograd/", "/torch/_tensor.py")),
    ("device", ("/torch/cuda/",)),
)

_frames: Callable[[], dict[int, FrameType]] = vars(sys)["_current_frames"]


def monitor_stalls(session: "Session") -> None:
    """Start a monitor, unless the adapter of another framework has."""
    if not session.frameworks.monitors_stalls:
        session.frameworks.monitors_stalls = True
        StallMonitor(session).start()


class StallMonitor:
    """Samples the stack of the training thread while no step ends; runs in the worker thread."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    def start(self) -> None:
        """Check before every flush."""
        self._restart()
        listeners, guard = self._session.listeners, self._session.guard
        listeners.on_begin(self._restart)
        listeners.before_flush(guard.shield("stall stacks", self._check, None))

    def _restart(self) -> None:
        self._counts = dict(self._session.steps.counts)
        self._since = self._session.clock.seconds()
        self._due_seconds = _FIRST_SECONDS
        self._is_reported = False

    def _check(self) -> None:
        session, counts = self._session, dict(self._session.steps.counts)
        if counts != self._counts:
            if self._is_reported:
                session.recorder.observe(ObservationKind.STANDING_STILL, "")
            self._restart()
            return
        stalled_seconds = session.clock.seconds() - self._since
        if stalled_seconds < max(self._due_seconds, _STEP_FACTOR * session.steps.latest_seconds):
            return
        self._due_seconds = max(2 * self._due_seconds, stalled_seconds)
        frame = _frames().get(session.thread.id)
        if frame is not None:
            self._is_reported = True
            line, detail = describe_stack(frame)
            session.recorder.observe(ObservationKind.STANDING_STILL, line, stalled_seconds, detail)


def describe_stack(innermost: FrameType) -> tuple[str, str]:
    """The innermost line of the script, and JSON with the framework's activity and the stack."""
    frames: list[tuple[str, int, str]] = []
    frame: FrameType | None = innermost
    while frame is not None and len(frames) < _MAX_DEPTH:
        file = frame.f_code.co_filename
        if not file.startswith(_OURS):
            frames.append((file, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    script = [entry for entry in frames if not any(folder in entry[0] for folder in _INSTALLED)]
    stack = tuple(_label(*entry) for entry in reversed(frames[:_MAX_RECORDED_FRAMES]))
    activity = next((name for file, _, _ in frames if (name := _activity(file))), "")
    return _label(*script[0]) if script else "", Stall(activity, stack).encode()


def _activity(file: str) -> str:
    matches = (name for name, paths in _ACTIVITIES if any(path in file for path in paths))
    return next(matches, "")


def _label(file: str, line: int, function: str) -> str:
    return f"{function} ({Path(file).name}:{line})"
