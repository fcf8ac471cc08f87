"""A day of 120 series in which a worker trained: the job that long benchmarks are about."""

from benchmarks.recorded import record
from benchmarks.synthetic import make_day
from benchmarks.synthetic_training import MovedClock, Pace, Training
from sonde.clock import NANOSECONDS
from sonde.store.backends import Backend


def trained_day(uri: str, steps: int) -> tuple[Backend, MovedClock]:
    """The job, recorded and sealed, with about so many steps; and the clock at its end."""
    day = make_day()
    first_ns, last_ns = int(day.times_ns[0]), int(day.times_ns[-1])
    pace = Pace(steps * NANOSECONDS / (last_ns - first_ns), parameters=20, statistics_every=60)
    backend, clock = record(uri, day), MovedClock(first_ns)
    training = Training(backend, clock, pace)
    for instant_ns in range(first_ns, last_ns, 60 * NANOSECONDS):
        training.train_until(instant_ns)
    training.end()
    return backend, clock
