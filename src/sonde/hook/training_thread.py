"""The thread of a process whose training is recorded."""

import threading
from collections.abc import Callable


class TrainingThread:
    """Selects the first thread that trains, until that thread ends."""

    __slots__ = ("_on_handover", "_thread", "id", "is_alone", "lock")

    def __init__(self, on_handover: Callable[[], None]) -> None:
        self._on_handover = on_handover
        self.reset()

    def reset(self) -> None:
        """Select no thread; a forked child has none of its parent's threads and locks."""
        self.id = 0  # of the selected thread; 0 before the first hook call
        self._thread: threading.Thread | None = None
        # No other thread trains. If one does, its gradients must not be read: a backward pass
        # changes them without a lock, and a read at the same time would crash the process.
        self.is_alone = True
        self.lock = threading.RLock()

    def is_current(self) -> bool:
        """Whether the caller is the selected thread, or no thread is selected yet."""
        return self.id in (0, threading.get_ident())

    def claim(self, *, is_idle: bool = False) -> bool:
        """Select the calling thread, unless another one is selected; return whether it is selected.

        Args:
            is_idle: Whether the thread selected so far has not trained yet.
        """
        if self.id and not (is_idle or self._has_ended()):
            self.is_alone = False
            return False
        with self.lock:
            if self.id and not (is_idle or self._has_ended()):
                self.is_alone = False
                return False
            if self.id:
                self._on_handover()
            self.id = threading.get_ident()
            # threads started outside of Python are not listed, and never count as ended
            alive = threading.enumerate()
            self._thread = next((thread for thread in alive if thread.ident == self.id), None)
            return True

    def _has_ended(self) -> bool:
        return self._thread is not None and not self._thread.is_alive()
