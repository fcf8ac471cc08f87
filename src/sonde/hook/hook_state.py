"""The flags that every hook checks first: recording on or off, hooks resting, notes pending."""

from collections.abc import Callable


class HookState:
    """Whether hooks record, and what must run before they do.

    Hooks hold a reference to this object, so it is reset in place and never replaced.
    """

    __slots__ = (
        *("is_on", "is_paused", "holds", "is_resting", "has_notes"),
        *("catch_up", "flush_rest", "_forget"),
    )

    def __init__(self) -> None:
        self.catch_up: Callable[[], None] = _do_nothing  # replays all deferred events
        self.flush_rest: Callable[[], None] = _do_nothing  # records what was counted at rest
        self._forget: Callable[[], None] = _do_nothing
        self.reset()

    def reset(self) -> None:
        """Return to the state before recording starts."""
        self.is_on = False
        self.is_paused = False
        self.holds = 0  # CUDA graphs being captured
        self.is_resting = False  # hooks are removed, and only the ends of steps are counted
        self.has_notes = False  # deferred events wait to be replayed

    def forget_notes(self) -> None:
        """Drop deferred events in a forked child: they belong to the parent."""
        self._forget()

    def add_replay(self, catch_up: Callable[[], None], forget: Callable[[], None]) -> None:
        """Add functions that replay and drop the deferred events of a framework."""
        self.catch_up = _in_order(self.catch_up, catch_up)
        self._forget = _in_order(self._forget, forget)

    def set_flush(self, flush: Callable[[], None]) -> None:
        """Set the function that records the steps counted while hooks rest."""
        self.flush_rest = flush

    def set_notes(self, *, are_pending: bool) -> None:
        """Set whether deferred events wait to be replayed."""
        self.has_notes = are_pending

    def begin_rest(self) -> None:
        """Mark hooks as removed; steps counted from now on wait like deferred events."""
        self.is_resting = self.has_notes = True

    def end_rest(self) -> None:
        """Mark hooks as active again, with nothing left to replay."""
        self.is_resting = self.has_notes = False

    def abandon_rest(self) -> None:
        """Mark hooks as active again in a forked child."""
        self.is_resting = False

    def add_hold(self) -> bool:
        """Add a hold; return whether it is the first."""
        self.holds += 1
        return self.holds == 1

    def remove_hold(self) -> bool:
        """Remove a hold; return whether it was the last."""
        was_last, self.holds = self.holds == 1, max(0, self.holds - 1)
        return was_last

    def switch_on(self) -> None:
        """Turn recording on, unless it is paused."""
        self.is_on = not self.is_paused

    def switch_off(self) -> None:
        """Turn recording off."""
        self.is_on = False

    def pause(self) -> None:
        """Turn recording off until `resume`."""
        self.is_paused, self.is_on = True, False

    def resume(self, *, is_on: bool) -> None:
        """End a pause."""
        self.is_paused, self.is_on = False, is_on


def _in_order(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    """A function that calls both; the second one if there is no first."""
    if first is _do_nothing:
        return second

    def both() -> None:
        first()
        second()

    return both


def _do_nothing() -> None:
    """Placeholder for a process without a framework, which defers nothing."""
