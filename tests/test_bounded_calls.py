"""A call may take its time, or fail; its caller goes on."""

import threading

import pytest

from sonde.bounded_calls import within


def test_a_result_in_time() -> None:
    assert within(60, "work", lambda: 3, 0) == 3


def test_a_failure_gives_the_default() -> None:
    assert within(60, "work", lambda: 1 // 0, -1) == -1


def test_what_takes_too_long_gives_the_default() -> None:
    never = threading.Event()
    assert within(0.01, "work", never.wait, None) is None
    never.set()


def test_when_python_starts_no_more_threads_the_work_is_done_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert within(60, "work", lambda: 3, 0) == 3
