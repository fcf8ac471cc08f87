"""Only our own threads are counted as our cost."""

import threading
from collections.abc import Callable

from sonde.clock import thread_cpu_seconds
from sonde.hook.thread_cpu import SondeThreads


def burn(seconds: float) -> None:
    while thread_cpu_seconds() < seconds:
        sum(range(1000))


def run_in_thread(name: str, own: SondeThreads, work: Callable[[], None]) -> float:
    """What our threads cost, while that one still lives."""
    worked, over = threading.Event(), threading.Event()

    def run() -> None:
        work()
        worked.set()
        over.wait(60)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    worked.wait(60)
    cost = own.cpu_seconds()
    over.set()
    thread.join()
    return cost


def test_a_thread_of_ours_counts_also_after_its_end() -> None:
    own = SondeThreads()
    before = own.cpu_seconds()
    assert run_in_thread("sonde-test", own, lambda: burn(0.05)) - before >= 0.04
    assert own.cpu_seconds() - before >= 0.04


def test_other_threads_and_the_hook_do_not() -> None:
    own = SondeThreads()
    before = own.cpu_seconds()
    run_in_thread("training", own, lambda: burn(0.2))
    run_in_thread("sonde-hook", own, lambda: burn(0.2))
    assert own.cpu_seconds() - before < 0.2
