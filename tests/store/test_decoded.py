"""What was decoded is kept up to so many bytes, and drops out in the order it is forgotten."""

import numpy as np

from sonde.store.decoded import Decoded
from tests.fakes.job import FakeJob


def _bytes(count: int) -> np.ndarray:
    return np.zeros(count, dtype=np.uint8)


def test_what_was_asked_for_last_stays() -> None:
    kept = Decoded(100)
    kept.keep("a", _bytes(40))
    kept.keep("b", _bytes(40))
    assert kept.find("a") is not None
    kept.keep("c", _bytes(40))
    assert kept.find("b") is None
    assert kept.find("a") is not None
    assert kept.find("c") is not None
    assert kept.nbytes == 80


def test_what_is_too_large_is_not_kept_and_drives_nothing_out() -> None:
    kept = Decoded(100)
    kept.keep("a", _bytes(40))
    kept.keep("b", _bytes(101))
    assert kept.find("b") is None
    assert kept.find("a") is not None


def test_a_key_that_is_kept_again_counts_once() -> None:
    kept = Decoded(100)
    for size in (40, 60, 50):
        kept.keep("a", _bytes(size))
    assert kept.nbytes == 50


def test_a_reader_that_keeps_columns_reads_the_same_as_one_that_does_not() -> None:
    job = FakeJob().record({f"cpu/{n}": [float(n + i) for i in range(300)] for n in range(4)})
    job.seal()
    plain, keeping = job.reader(), job.reader()
    keeping._decoded = decoded = Decoded(1 << 20)
    keeping._sealed_segments = {}
    keeping.refresh()
    keys = [one.key for one in plain.series]
    for chosen in (keys[:2], keys, [*keys[1:], "unknown"]):
        for _ in range(2):
            expected, found = plain.samples(chosen), keeping.samples(chosen)
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])
    assert decoded.nbytes > 0
