"""The interface of a profiler that starts before a step and stops after a step."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from sonde.records.profile import Window

if TYPE_CHECKING:
    from sonde.hook.session import Session


class Profiler(ABC):
    """Records details while a profiling window is open.

    There is one instance per process and kind. Its module is imported shortly before its first
    window.
    """

    def __init__(self, session: "Session") -> None:
        self.session = session

    def prepare(self, window: Window) -> None:
        """Do time-consuming preparations, in the worker thread."""

    @abstractmethod
    def begin(self, window: Window) -> str | None:
        """Start in the training thread, between two steps.

        The window's `start_step` is the step that begins. A window that the script opens may begin
        in the middle of a step.

        Returns:
            None, or the reason why the profiler cannot run, such as another active profiler.
        """

    def has_enough(self) -> bool:
        """Whether enough data was recorded; called after the last step of a window.

        A default window is extended by some steps until this returns True.
        """
        return True

    @abstractmethod
    def end(self, window: Window) -> None:
        """Stop in the training thread, between two steps.

        Submit time-consuming work to `session.worker_thread`.
        """
