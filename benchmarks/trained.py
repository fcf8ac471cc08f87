"""A synthetic job of one day: 120 series and a training worker."""

from benchmarks.recorded import record
from benchmarks.synthetic import make_day
from benchmarks.synthetic_training import FakeClock, Pace, Training
from sonde.clock import NANOSECONDS
from sonde.store.backends import Backend


def trained_day(uri: str, steps: int) -> tuple[Backend, FakeClock]:
    """Write and seal a job with about this number of steps; return it and the clock at its end."""
    day = make_day()
    first_ns, last_ns = int(day.times_ns[0]), int(day.times_ns[-1])
    pace = Pace(steps * NANOSECONDS / (last_ns - first_ns), parameters=20, statistics_every=60)
    backend, clock = record(uri, day), FakeClock(first_ns)
    training = Training(backend, clock, pace)
    for instant_ns in range(first_ns, last_ns, 60 * NANOSECONDS):
        training.train_until(instant_ns)
    training.end()
    return backend, clock
