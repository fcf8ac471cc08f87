"""Holds, forks and restarts of the session of a process."""

import threading

from tests.fakes.plain_loop import PlainLoop
from tests.fakes.session import watched

DEFERRED_STEPS = 30


def test_session_does_not_begin_while_held() -> None:
    with watched() as recorded:
        script = PlainLoop()
        recorded.session.hold()
        script.train(2)
        recorded.session.release()
        script.train(3)

    assert len(recorded.scalars("loss")) == 3


def test_holds_may_be_nested() -> None:
    is_over = threading.Event()

    def hold_twice() -> None:
        session.hold()
        session.hold()
        session.release()
        script.train(2)
        session.release()
        is_over.set()

    with watched() as recorded:
        session, script = recorded.session, PlainLoop()
        script.train(1)
        threading.Thread(target=hold_twice, daemon=True).start()
        assert is_over.wait(30)
        script.train(1)

    assert len(recorded.scalars("loss")) == 2


def test_held_session_closes_immediately() -> None:
    with watched() as recorded:
        PlainLoop().train(2)
        recorded.session.hold()
        began = recorded.session.clock.seconds()
        recorded.session.close()
        close_seconds = recorded.session.clock.seconds() - began
        recorded.session.release()

    assert close_seconds < 9
    assert len(recorded.scalars("loss")) == 2


def test_a_forked_child_records_no_data_of_its_parent() -> None:
    with watched(closely=False) as recorded:
        script = PlainLoop()
        script.train(DEFERRED_STEPS)
        parent_thread = recorded.session.worker_thread
        recorded.session.reset()
        script.train(DEFERRED_STEPS)
        recorded.session.state.catch_up()
        parent_thread.close(10.0)

    assert recorded.session.steps.counts["train"] == DEFERRED_STEPS
