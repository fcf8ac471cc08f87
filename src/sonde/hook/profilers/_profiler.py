"""What a profiler is: something that can be switched on right before a step and off after it."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from sonde.records.profile import Window

if TYPE_CHECKING:
    from sonde.hook.session import Session


class Profiler(ABC):
    """Records deeply while a window is open.

    One object per process and kind; its file is imported when its first window is near. Where a
    look is impossible just now (another profiler is at work), `begin` says why.
    """

    def __init__(self, session: "Session") -> None:
        self.session = session

    def prepare(self, window: Window) -> None:
        """Does beforehand, in the backroom, what would take time in the step."""

    @abstractmethod
    def begin(self, window: Window) -> str | None:
        """Switches on, in the training thread, between two steps; or the reason why it cannot.

        The window's `start_step` is now the step that begins. A script may ask for a window in
        the middle of a step.
        """

    def has_enough(self) -> bool:
        """Whether what was seen so far tells something; asked after the last step of a window.

        The usual windows go on for some steps where it does not.
        """
        return True

    @abstractmethod
    def end(self, window: Window) -> None:
        """Switches off, in the training thread, between two steps.

        What takes time belongs into the backroom: `session.worker_thread.hand`.
        """
