"""Profilers that only record their calls."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from sonde.hook import profile_windows as windows
from sonde.hook.profilers import Profiler
from sonde.hook.session import Session
from sonde.records.profile import Window

Call = tuple[str, str, int | None]  # method, kind, training steps completed


@dataclass
class FakeProfilers:
    """Replaces the registry of profilers and records the calls of each kind."""

    kinds: tuple[str, ...]
    calls: list[Call] = field(default_factory=list)
    prepared: list[str] = field(default_factory=list)
    refusal: str | None = None  # returned by `begin`
    failing: str = ""  # the call that raises
    seconds: float = 0.0  # to start and to stop
    enough_at: int = 0  # training steps until `has_enough`

    def __contains__(self, name: str) -> bool:
        return name in self.kinds

    def load(self, _name: str) -> Callable[[Session], Profiler]:
        return lambda session: _RecordingProfiler(session, self)


class _RecordingProfiler(Profiler):
    def __init__(self, session: Session, profilers: FakeProfilers) -> None:
        super().__init__(session)
        self._profilers = profilers

    def prepare(self, window: Window) -> None:
        self._profilers.prepared.append(window.kind.value)
        self._fail_in("prepare")

    def begin(self, window: Window) -> str | None:
        self._note("begin", window)
        return self._profilers.refusal

    def has_enough(self) -> bool:
        return self.session.steps.counts["train"] >= self._profilers.enough_at

    def end(self, window: Window) -> None:
        self._note("end", window)

    def _note(self, what: str, window: Window) -> None:
        done = self.session.steps.counts["train"]
        self._profilers.calls.append((what, window.kind.value, done))
        threading.Event().wait(self._profilers.seconds)
        self._fail_in(what)

    def _fail_in(self, what: str) -> None:
        if self._profilers.failing == what:
            raise ValueError(f"no {what} today")


@contextmanager
def fake_profilers(*kinds: str) -> Iterator[FakeProfilers]:
    """Replace all profilers with fake ones of these kinds."""
    profilers = FakeProfilers(kinds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "PROFILERS", profilers)
        yield profilers
