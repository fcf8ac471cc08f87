"""The garbage collector runs rarely and skips objects loaded at startup."""

import gc
from collections.abc import Iterator

import pytest

from sonde.engine.garbage_collection import collect_rarely


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_objects_that_exist_at_startup_are_frozen() -> None:
    stored: list[list[int]] = [[] for _ in range(100)]
    collect_rarely()
    assert gc.get_freeze_count() > len(stored)


def test_later_garbage_is_still_collected() -> None:
    collect_rarely()
    assert gc.isenabled()
    assert gc.get_threshold()[0] > 700
    loop: list[object] = []
    loop.append(loop)
    del loop
    assert gc.collect() > 0
