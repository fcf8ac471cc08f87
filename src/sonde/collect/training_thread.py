"""The one thread of a process whose training is recorded."""

import threading
from abc import ABC, abstractmethod


class TrainingThread(ABC):
    """Whoever trains first is recorded until its end."""

    thread_id = 0  # of the thread that trains; 0: no hook was called yet

    def _begin_threads(self) -> None:
        """Nobody trains yet; a forked child has none of its parent's threads and locks."""
        self.thread_id = 0
        self._thread: threading.Thread | None = None
        self._thread_lock = threading.RLock()

    @abstractmethod
    def pause(self) -> None:
        """Nothing is seen until `resume`; what was seen is written."""

    @abstractmethod
    def resume(self) -> None:
        """Goes on after a pause."""

    def is_training_thread(self) -> bool:
        """Whether the caller trains; before anybody has begun to, it may."""
        return self.thread_id in (0, threading.get_ident())

    def claim_training(self, *, is_idle: bool = False) -> bool:
        """Whether the caller is recorded from now on.

        Args:
            is_idle: Whether the thread that is recorded so far has not trained yet.
        """
        if self.thread_id and not (is_idle or self._has_ended()):
            return False
        with self._thread_lock:
            if self.thread_id and not (is_idle or self._has_ended()):
                return False
            if self.thread_id:
                self.pause()
                self.resume()
            self.thread_id = threading.get_ident()
            # threads of other languages are not listed: they are taken to live on
            alive = threading.enumerate()
            self._thread = next((one for one in alive if one.ident == self.thread_id), None)
            return True

    def _has_ended(self) -> bool:
        return self._thread is not None and not self._thread.is_alive()
