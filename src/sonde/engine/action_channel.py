"""Runs one action in its own thread, and retries it on failure."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from sonde.actions import Action, Occasion
from sonde.clock import Clock
from sonde.errors import ActionError
from sonde.guard import Guard
from sonde.masking import mask_text

PAUSES_SECONDS = (2.0, 10.0, 60.0, 300.0)  # before each retry
_IDLE_SECONDS = 3600.0


@dataclass(slots=True)
class Delivery:
    """A pending occasion for an action."""

    occasion: Occasion
    attempts: int = 0
    due: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one attempt."""

    occasion: Occasion
    attempts: int
    message: str
    is_done: bool
    is_final: bool  # no further attempt is made


class Channel:
    """Performs one action for each occasion; a slow or failing action does not delay others."""

    def __init__(
        self, action: Action, clock: Clock, report: Callable[[Action, Outcome], None]
    ) -> None:
        self.action = action
        self._clock = clock
        self._report = report
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._waiting: list[Delivery] = []
        self._is_closing = False
        self._thread: threading.Thread | None = None

    def put(self, occasion: Occasion) -> None:
        """Queue an occasion."""
        with self._lock:
            self._waiting.append(Delivery(occasion, due=self._clock.seconds()))
        self._wake.set()

    def start(self) -> None:
        """Start the background thread if it is not running."""
        if self._thread is None:
            name = f"sonde-action-{self.action.name}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    def work(self) -> float:
        """Perform everything that is due; return the seconds until the next delivery."""
        while (delivery := self._next()) is not None:
            self._attempt(delivery)
        with self._lock:
            dues = [each.due for each in self._waiting]
        return max(0.0, min(dues) - self._clock.seconds()) if dues else _IDLE_SECONDS

    def retry_now(self) -> None:
        """Retry everything once more now, because the job has ended; then stop."""
        with self._lock:
            self._is_closing = True
            for delivery in self._waiting:
                delivery.due = 0.0
        self._wake.set()

    def finish(self, seconds: float) -> None:
        """Wait for the thread up to a time limit; without a thread, do the work here."""
        if self._thread is not None:
            self._thread.join(seconds)
        else:
            self.work()

    def _run(self) -> None:
        while True:
            self._wake.clear()
            pause = self.work()
            with self._lock:
                if self._is_closing and not self._waiting:
                    return
            self._clock.wait(self._wake, pause)

    def _next(self) -> Delivery | None:
        with self._lock:
            now = self._clock.seconds()
            due = [delivery for delivery in self._waiting if delivery.due <= now]
            if not due:
                return None
            first = min(due, key=lambda delivery: delivery.due)
            self._waiting.remove(first)
            return first

    def _attempt(self, delivery: Delivery) -> None:
        errors: list[BaseException] = []
        guard = Guard(lambda _, error: errors.append(error))
        occasion = delivery.occasion
        message_text = guard.call(self.action.name, lambda: self.action.perform(occasion), "")
        delivery.attempts += 1
        error = errors[0] if errors else None
        pause = self._pause(error, delivery.attempts)
        if pause is not None:
            with self._lock:
                delivery.due = self._clock.seconds() + pause
                self._waiting.append(delivery)
        message = mask_text(message_text if error is None else _error_message(error))
        outcome = Outcome(occasion, delivery.attempts, message, error is None, pause is None)
        self._report(self.action, outcome)

    def _pause(self, error: BaseException | None, attempts: int) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        # any other exception is a bug in the action: a retry would fail, too
        if not isinstance(error, ActionError) or error.is_final or self._is_closing:
            return None
        if attempts > len(PAUSES_SECONDS):
            return None
        return max(PAUSES_SECONDS[attempts - 1], error.after_seconds or 0.0)


def _error_message(error: BaseException) -> str:
    is_action_error = isinstance(error, ActionError)
    return str(error) if is_action_error else f"{type(error).__name__}: {error}"
