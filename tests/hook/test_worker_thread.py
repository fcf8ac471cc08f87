"""The hook's own thread."""

import threading
from collections.abc import Callable

from sonde.clock import SystemClock
from sonde.guard import Guard
from sonde.hook.worker_thread import WorkerThread
from tests.fakes.eventually import eventually


class Work:
    """A device's result that is ready when the test says so."""

    def __init__(self, on_taken: Callable[[], None]) -> None:
        self.ready = threading.Event()
        self.take = on_taken

    def is_ready(self) -> bool:
        return self.ready.is_set()


def backroom(
    tidy: Callable[[], None] = lambda: None, guard: Guard | None = None, seconds: float = 60.0
) -> WorkerThread:
    room = WorkerThread(SystemClock(), guard or Guard(), tidy, seconds, lambda _seconds: None)
    room.start()
    return room


def test_work_is_done_in_order_and_all_of_it_before_the_end() -> None:
    done: list[int] = []
    room = backroom()
    for number in range(100):
        room.submit("work", lambda number=number: done.append(number))  # type: ignore[misc]

    assert room.close(60) == 0
    assert done == list(range(100))


def test_the_last_thing_it_does_is_to_tidy_up() -> None:
    done: list[str] = []
    room = backroom(lambda: done.append("tidy"))
    room.submit("work", lambda: done.append("work"))

    room.close(60)

    assert done[-1] == "tidy"


def test_work_that_fails_is_switched_off_and_the_rest_goes_on() -> None:
    done: list[str] = []
    guard = Guard()
    room = backroom(guard=guard)
    for _ in range(3):
        room.submit("broken", lambda: done.append(str(1 / 0)))
    room.submit("sound", lambda: done.append("sound"))

    room.close(60)

    assert done == ["sound"]
    assert list(guard.failed) == ["broken"]


def test_results_are_taken_when_they_are_ready_and_in_order() -> None:
    taken: list[int] = []
    room = backroom()
    first, second = (Work(lambda number=number: taken.append(number)) for number in (1, 2))  # type: ignore[misc]
    room.expect("first", first)
    room.expect("second", second)

    second.ready.set()
    first.ready.set()

    assert eventually(lambda: taken == [1, 2])
    room.close(60)


def test_what_is_never_ready_is_given_up_at_the_end_and_counted() -> None:
    room = backroom()
    room.expect("never", Work(lambda: None))
    room.expect("never", Work(lambda: None))

    assert room.close(0.01) == 2


def test_nothing_is_begun_while_it_is_held() -> None:
    began = threading.Event()
    room = backroom()
    room.hold()

    room.submit("work", began.set)

    assert not began.wait(0.2)
    room.release()
    assert began.wait(60)
    room.close(60)
