"""The hook's worker thread."""

import threading
from collections.abc import Callable

from sonde.clock import SystemClock, thread_cpu_seconds
from sonde.guard import Guard
from sonde.hook.worker_thread import WorkerThread
from tests.fakes.eventually import eventually


class DeviceResult:
    """A device's result that the test makes ready."""

    def __init__(self, on_taken: Callable[[], None]) -> None:
        self.ready = threading.Event()
        self.take = on_taken

    def is_ready(self) -> bool:
        return self.ready.is_set()


def make_thread(
    flush: Callable[[], None] = lambda: None, guard: Guard | None = None, seconds: float = 60.0
) -> WorkerThread:
    thread = WorkerThread(SystemClock(), guard or Guard(), flush, seconds, lambda _seconds: None)
    thread.start()
    return thread


def test_all_submitted_work_runs_in_order_before_the_end() -> None:
    done: list[int] = []
    thread = make_thread()
    for number in range(100):
        thread.submit("work", lambda number=number: done.append(number))  # type: ignore[misc]

    assert thread.close(60) == 0
    assert done == list(range(100))


def test_worker_thread_flushes_last() -> None:
    done: list[str] = []
    thread = make_thread(lambda: done.append("flush"))
    thread.submit("work", lambda: done.append("work"))

    thread.close(60)

    assert done[-1] == "flush"


def test_failing_work_is_disabled_and_the_rest_continues() -> None:
    done: list[str] = []
    guard = Guard()
    thread = make_thread(guard=guard)
    for _ in range(3):
        thread.submit("broken", lambda: done.append(str(1 / 0)))
    thread.submit("sound", lambda: done.append("sound"))

    thread.close(60)

    assert done == ["sound"]
    assert list(guard.failed) == ["broken"]


def test_device_results_are_processed_in_order_when_ready() -> None:
    results: list[int] = []
    thread = make_thread()
    first = DeviceResult(lambda: results.append(1))
    second = DeviceResult(lambda: results.append(2))
    thread.expect("first", first)
    thread.expect("second", second)

    second.ready.set()
    first.ready.set()

    assert eventually(lambda: results == [1, 2])
    thread.close(60)


def test_results_that_never_arrive_are_dropped_and_counted() -> None:
    thread = make_thread()
    thread.expect("never", DeviceResult(lambda: None))
    thread.expect("never", DeviceResult(lambda: None))

    assert thread.close(0.01) == 2


def test_no_work_starts_during_a_hold() -> None:
    began = threading.Event()
    thread = make_thread()
    thread.hold()

    thread.submit("work", began.set)

    assert not began.wait(0.2)
    thread.release()
    assert began.wait(60)
    thread.close(60)


def test_work_that_does_not_recur_is_no_overhead() -> None:
    costs: list[float] = []
    thread = WorkerThread(SystemClock(), Guard(), lambda: None, 60.0, costs.append)
    thread.start()

    def compile_kernels() -> None:
        until = thread_cpu_seconds() + 0.2
        while thread_cpu_seconds() < until:
            pass

    thread.submit_once("kernels", compile_kernels)
    thread.close(60)

    assert sum(costs) < 0.1
