"""Callbacks of a session: at its beginning and end, before a flush, after each step."""

from collections.abc import Callable

from sonde.guard import Guard
from sonde.hook.steps import FinishedStep, StepId


class Listeners:
    """Registers callbacks and calls them."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._begin: list[Callable[[], None]] = []
        self._end: list[Callable[[], None]] = []
        self._flush: list[Callable[[], None]] = []
        self._scripted_step: list[Callable[[], None]] = []
        # public so that hot paths can iterate over them without a method call
        self.steps: list[Callable[[FinishedStep], None]] = []
        self.non_finite: list[Callable[[str, float, StepId], None]] = []

    def on_begin(self, listener: Callable[[], None]) -> None:
        """Register a listener for the beginning of training, also called in a forked child."""
        self._begin.append(listener)

    def on_end(self, listener: Callable[[], None]) -> None:
        """Register a listener to call after the last step, before the last flush."""
        self._end.append(listener)

    def before_flush(self, listener: Callable[[], None]) -> None:
        """Register a listener to call before rows are written, in the worker thread."""
        self._flush.append(listener)

    def before_scripted_step(self, listener: Callable[[], None]) -> None:
        """Register a listener to call before `sonde.step` ends a step."""
        self._scripted_step.append(listener)

    def on_step(self, component: str, listener: Callable[[FinishedStep], None]) -> None:
        """Register a listener to call after each step; it is dropped if it fails."""
        self.steps.append(self._guard.shield(component, listener, None))

    def on_non_finite(self, listener: Callable[[str, float, StepId], None]) -> None:
        """Register a listener for recorded numbers that are infinite or NaN, in any thread."""
        self.non_finite.append(listener)

    def begin(self) -> None:
        """Call the listeners for the beginning of training."""
        for listener in self._begin:
            self._guard.call("the beginning", listener, None)

    def end(self) -> None:
        """Call the listeners for the end of training."""
        for listener in self._end:
            self._guard.call("the end", listener, None)

    def flush(self) -> None:
        """Call the listeners that run before rows are written."""
        for listener in self._flush:
            listener()

    def scripted_step(self) -> None:
        """Call the listeners for a step that the script ends."""
        for listener in self._scripted_step:
            listener()
