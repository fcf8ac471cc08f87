"""What rules cost beside a job that runs, and how soon they have gone through a recorded one."""

import statistics
import sys
import tempfile

import numpy as np

from benchmarks.report import Row
from benchmarks.synthetic import INTERVAL_NS, Day, make_day
from benchmarks.synthetic_training import NODE, MovedClock, Pace, Training
from benchmarks.trained import trained_day
from sonde.clock import NANOSECONDS, process_cpu_seconds
from sonde.engine.garbage_collection import collect_rarely
from sonde.engine.runner import Recorder, Runner
from sonde.read.job_data import JobData
from sonde.results.rule_verdict import last_words
from sonde.rules._selection import select_rules
from sonde.store.backends import Backend, open_backend
from sonde.store.layout import node_folder
from sonde.store.writer import Writer

_LOOK_SECONDS = 2
_LIVE_SECONDS = 600
_WARM_SECONDS = 60  # at the beginning everything is looked at more closely, and loaded
_CHECK_BAR_SECONDS = 20.0
_CHECK_STEPS = 100_000

SLOW = Pace(steps_per_second=2, parameters=150, statistics_every=1)
FAST = Pace(steps_per_second=200, parameters=20, statistics_every=60)


def main(live_seconds: int = _LIVE_SECONDS, check_steps: int = _CHECK_STEPS) -> list[Row]:
    """All rules: live at two paces, and over a recorded day."""
    collect_rarely()  # as `sonde follow` and `sonde check` do
    day = make_day(ticks=(live_seconds + 10) * NANOSECONDS // INTERVAL_NS)
    return [
        _live("2 steps/s, 300 tensors at every step", SLOW, day, live_seconds, 1.0),
        _live("200 steps/s, 40 tensors every 60 steps", FAST, day, live_seconds, 3.0),
        *_recorded(check_steps),
    ]


def _live(what: str, pace: Pace, day: Day, seconds: int, bar_percent: float) -> Row:
    """CPU time of looks every other second, in percent of the time that the job took."""
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        backend = open_backend(f"{folder}/job")
        start_ns = int(day.times_ns[0])
        clock = MovedClock(start_ns)
        training = Training(backend, clock, pace)
        samples = _Samples(backend, clock, day)
        recorder = Recorder(backend, clock, select_rules(), last_words)
        for second in range(_LOOK_SECONDS, seconds, _LOOK_SECONDS):
            training.train_until(start_ns + second * NANOSECONDS)
            samples.record_until(start_ns + second * NANOSECONDS)
            clock.move_to(start_ns + second * NANOSECONDS)
            before = process_cpu_seconds()
            recorder.advance()
            if second >= min(_WARM_SECONDS, seconds // 2):
                costs.append(process_cpu_seconds() - before)
        found = [one for rule in recorder.runner.evaluations for one in rule.episodes]
    percent = 100 * statistics.fmean(costs) / _LOOK_SECONDS
    return Row(
        f"all rules beside a job, {what}",
        percent,
        "% of a core",
        bar=f"≤ {bar_percent:g} %",
        is_met=percent <= bar_percent,
        note=f"a look every {_LOOK_SECONDS} s over {seconds} s, 120 series; the dearest one "
        f"{1000 * max(costs):.0f} ms; {len(found)} findings in a job without faults",
    )


class _Samples:
    """The machine's side of a job that runs."""

    def __init__(self, backend: Backend, clock: MovedClock, day: Day) -> None:
        self._writer = Writer(backend, node_folder(NODE), clock)
        self._day = day
        self._place = 0

    def record_until(self, instant_ns: int) -> None:
        """All ticks before an instant are in the store."""
        end = int(np.searchsorted(self._day.times_ns, instant_ns))
        for place in range(self._place, end):
            values = self._day.values[:, place].tolist()
            self._writer.add_sample(int(self._day.times_ns[place]), self._day.series, values)
        self._place = end
        self._writer.flush()
        self._writer.outbox.write_waiting()


def _recorded(steps: int) -> list[Row]:
    """CPU time of all rules over a recorded job: on one core, as `sonde check` does it."""
    with tempfile.TemporaryDirectory() as folder:
        backend, clock = trained_day(f"{folder}/job", steps)
        before = process_cpu_seconds()
        runner = Runner(JobData(backend, clock), select_rules())
        runner.advance()
        spent = process_cpu_seconds() - before
        dearest = sorted(runner.evaluations, key=lambda one: -one.seconds)[:5]
    names = ", ".join(f"{one.rule} {one.seconds:.1f} s" for one in dearest)
    return [
        Row(
            f"all rules over a recorded day, 120 series, {steps:,} steps",
            spent,
            "s of CPU",
            bar=f"≤ {_CHECK_BAR_SECONDS:g} s",
            is_met=spent <= _CHECK_BAR_SECONDS,
            note=f"dearest: {names}",
        )
    ]


if __name__ == "__main__":
    for row in main(*map(int, sys.argv[1:])):
        print(f"{row.what}: {row.measured:.3g} {row.unit}; {row.note}")
