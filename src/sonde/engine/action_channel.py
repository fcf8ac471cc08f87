"""One action's way out: what is due is done in a thread of its own, and tried again if it fails."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from sonde.actions import Action, Occasion
from sonde.clock import Clock
from sonde.errors import ActionError
from sonde.guard import Guard
from sonde.masking import mask_text

PAUSES_SECONDS = (2.0, 10.0, 60.0, 300.0)  # after the first attempt, the second …
_IDLE_SECONDS = 3600.0


@dataclass(slots=True)
class Delivery:
    """One occasion, on its way."""

    occasion: Occasion
    attempts: int = 0
    due: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt came to."""

    occasion: Occasion
    attempts: int
    message: str
    is_done: bool
    is_final: bool  # there is no other attempt


class Channel:
    """Does one action for one occasion after the other; slow or broken, it holds up no other."""

    def __init__(
        self, action: Action, clock: Clock, tell: Callable[[Action, Outcome], None]
    ) -> None:
        self.action = action
        self._clock = clock
        self._tell = tell
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._waiting: list[Delivery] = []
        self._is_closing = False
        self._thread: threading.Thread | None = None

    def put(self, occasion: Occasion) -> None:
        """Something to do, soon."""
        with self._lock:
            self._waiting.append(Delivery(occasion, due=self._clock.seconds()))
        self._news.set()

    def start(self) -> None:
        """Begins to work in the background, if it has not."""
        if self._thread is None:
            name = f"sonde-action-{self.action.name}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    def work(self) -> float:
        """Does what is due; how long there is nothing to do then."""
        while (one := self._next()) is not None:
            self._attempt(one)
        with self._lock:
            dues = [one.due for one in self._waiting]
        return max(0.0, min(dues) - self._clock.seconds()) if dues else _IDLE_SECONDS

    def hurry(self) -> None:
        """The job is over: one more attempt of everything at once, and then no more."""
        with self._lock:
            self._is_closing = True
            for one in self._waiting:
                one.due = 0.0
        self._news.set()

    def finish(self, seconds: float) -> None:
        """Waits for the end of all that, for at most so long; does it here if nobody else does."""
        if self._thread is not None:
            self._thread.join(seconds)
        else:
            self.work()

    def _run(self) -> None:
        while True:
            self._news.clear()
            pause = self.work()
            with self._lock:
                if self._is_closing and not self._waiting:
                    return
            self._clock.wait(self._news, pause)

    def _next(self) -> Delivery | None:
        with self._lock:
            now = self._clock.seconds()
            due = [one for one in self._waiting if one.due <= now]
            if not due:
                return None
            first = min(due, key=lambda one: one.due)
            self._waiting.remove(first)
            return first

    def _attempt(self, delivery: Delivery) -> None:
        errors: list[BaseException] = []
        guard = Guard(lambda _, error: errors.append(error))
        occasion = delivery.occasion
        said = guard.call(self.action.name, lambda: self.action.perform(occasion), "")
        delivery.attempts += 1
        error = errors[0] if errors else None
        pause = self._pause(error, delivery.attempts)
        if pause is not None:
            with self._lock:
                delivery.due = self._clock.seconds() + pause
                self._waiting.append(delivery)
        message = mask_text(said if error is None else _words(error))
        outcome = Outcome(occasion, delivery.attempts, message, error is None, pause is None)
        self._tell(self.action, outcome)

    def _pause(self, error: BaseException | None, attempts: int) -> float | None:
        """How long to wait for another attempt; None where there is none."""
        # what is no error of an action is a mistake in it, and stays one
        if not isinstance(error, ActionError) or error.is_final or self._is_closing:
            return None
        if attempts > len(PAUSES_SECONDS):
            return None
        return max(PAUSES_SECONDS[attempts - 1], error.after_seconds or 0.0)


def _words(error: BaseException) -> str:
    is_ours = isinstance(error, ActionError)
    return str(error) if is_ours else f"{type(error).__name__}: {error}"
