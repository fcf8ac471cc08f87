"""Calls with a time limit: slow or failing calls do not affect the caller."""

import threading

import pytest

from sonde.bounded_calls import call_within


def test_a_result_in_time_is_returned() -> None:
    assert call_within(60, "work", lambda: 3, 0) == 3


def test_a_failed_call_returns_the_default() -> None:
    assert call_within(60, "work", lambda: 1 // 0, -1) == -1


def test_a_call_that_takes_too_long_returns_the_default() -> None:
    never = threading.Event()
    assert call_within(0.01, "work", never.wait, None) is None
    never.set()


def test_the_call_runs_even_if_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert call_within(60, "work", lambda: 3, 0) == 3
