"""Runs a benchmark in a fresh process: threads and caches of one do not count in the next."""

from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context

from benchmarks.report import Row


def in_process_of_its_own(name: str) -> list[Row]:
    """The rows of the benchmark of that name."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_rows, name).result()


def _rows(name: str) -> list[Row]:
    rows: list[Row] = import_module(f"benchmarks.{name}").main()
    return rows
