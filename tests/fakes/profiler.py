"""Profilers that only remember when they were called."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from sonde.hook import profile_windows as windows
from sonde.hook.profilers import Profiler
from sonde.hook.session import Session
from sonde.records.profile import Window

Call = tuple[str, str, int | None]  # what, which kind, how many training steps were done by then


@dataclass
class FakeProfilers:
    """Stands for the folder of profilers: what each of its kinds was told."""

    kinds: tuple[str, ...]
    calls: list[Call] = field(default_factory=list)
    prepared: list[str] = field(default_factory=list)
    refusal: str | None = None  # what `begin` answers
    failing: str = ""  # the call that raises
    seconds: float = 0.0  # what it takes to switch on, and off
    enough_at: int = 0  # so many training steps must be done before it has seen enough

    def __contains__(self, name: str) -> bool:
        return name in self.kinds

    def load(self, _name: str) -> Callable[[Session], Profiler]:
        return lambda session: _Noting(session, self)


class _Noting(Profiler):
    def __init__(self, session: Session, told: FakeProfilers) -> None:
        super().__init__(session)
        self._told = told

    def prepare(self, window: Window) -> None:
        self._told.prepared.append(window.kind.value)
        self._fail_in("prepare")

    def begin(self, window: Window) -> str | None:
        self._note("begin", window)
        return self._told.refusal

    def has_enough(self) -> bool:
        return self.session.steps.counts["train"] >= self._told.enough_at

    def end(self, window: Window) -> None:
        self._note("end", window)

    def _note(self, what: str, window: Window) -> None:
        done = self.session.steps.counts["train"]
        self._told.calls.append((what, window.kind.value, done))
        threading.Event().wait(self._told.seconds)
        self._fail_in(what)

    def _fail_in(self, what: str) -> None:
        if self._told.failing == what:
            raise ValueError(f"no {what} today")


@contextmanager
def fake_profilers(*kinds: str) -> Iterator[FakeProfilers]:
    """These are all the profilers there are."""
    profilers = FakeProfilers(kinds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "PROFILERS", profilers)
        yield profilers
