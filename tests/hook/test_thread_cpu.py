"""CPU time of Sonde's threads."""

import threading
from collections.abc import Callable

from sonde.clock import thread_cpu_seconds
from sonde.hook.thread_cpu import SondeThreads


def burn(seconds: float) -> None:
    while thread_cpu_seconds() < seconds:
        sum(range(1000))


def run_in_thread(name: str, threads: SondeThreads, work: Callable[[], None]) -> float:
    """Return the CPU time of Sonde's threads while a thread with this name is still alive."""
    worked, over = threading.Event(), threading.Event()

    def run() -> None:
        work()
        worked.set()
        over.wait(60)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    worked.wait(60)
    cost = threads.cpu_seconds()
    over.set()
    thread.join()
    return cost


def test_cpu_time_of_an_ended_sonde_thread_still_counts() -> None:
    threads = SondeThreads()
    before = threads.cpu_seconds()
    assert run_in_thread("sonde-test", threads, lambda: burn(0.05)) - before >= 0.04
    assert threads.cpu_seconds() - before >= 0.04


def test_cpu_time_of_other_threads_and_the_hook_thread_does_not_count() -> None:
    threads = SondeThreads()
    before = threads.cpu_seconds()
    run_in_thread("training", threads, lambda: burn(0.2))
    run_in_thread("sonde-hook", threads, lambda: burn(0.2))
    assert threads.cpu_seconds() - before < 0.2
