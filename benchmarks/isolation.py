"""Run a benchmark in a new process, so that threads and caches do not affect the next one."""

from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context

from benchmarks.report import Row


def run_in_new_process(name: str) -> list[Row]:
    """Return the rows of the benchmark with that name."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_rows, name).result()


def _rows(name: str) -> list[Row]:
    rows: list[Row] = import_module(f"benchmarks.{name}").main()
    return rows
