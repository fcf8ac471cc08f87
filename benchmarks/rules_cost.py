"""CPU time of all rules, for a running job and for a recorded one."""

import statistics
import sys
import tempfile

import numpy as np

from benchmarks.report import Row
from benchmarks.synthetic import INTERVAL_NS, Day, make_day
from benchmarks.synthetic_training import NODE, FakeClock, Pace, Training
from benchmarks.trained import trained_day
from sonde.clock import NANOSECONDS, process_cpu_seconds
from sonde.engine.garbage_collection import collect_rarely
from sonde.engine.runner import Recorder, Runner
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.rules._selection import select_rules
from sonde.store.backends import Backend, open_backend
from sonde.store.layout import node_folder
from sonde.store.writer import Writer

_CHECK_INTERVAL_SECONDS = 2
_LIVE_SECONDS = 600
_WARM_SECONDS = 60  # at the start, more is inspected and modules are loaded
_CHECK_BAR_SECONDS = 20.0
_CHECK_STEPS = 100_000

SLOW = Pace(steps_per_second=2, parameters=150, statistics_every=1)
FAST = Pace(steps_per_second=200, parameters=20, statistics_every=60)


def main(live_seconds: int = _LIVE_SECONDS, check_steps: int = _CHECK_STEPS) -> list[Row]:
    """Run all rules: live at two speeds, and on a recorded day."""
    collect_rarely()  # like `sonde follow` and `sonde check`
    day = make_day(ticks=(live_seconds + 10) * NANOSECONDS // INTERVAL_NS)
    return [
        _live("2 steps/s, 300 tensors at every step", SLOW, day, live_seconds, 1.0),
        _live("200 steps/s, 40 tensors every 60 steps", FAST, day, live_seconds, 3.0),
        *_recorded(check_steps),
    ]


def _live(what: str, pace: Pace, day: Day, seconds: int, bar_percent: float) -> Row:
    """Measure the CPU time of periodic checks as a percentage of job time."""
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        backend = open_backend(f"{folder}/job")
        start_ns = int(day.times_ns[0])
        clock = FakeClock(start_ns)
        training = Training(backend, clock, pace)
        samples = _Samples(backend, clock, day)
        recorder = Recorder(backend, clock, select_rules())
        for second in range(_CHECK_INTERVAL_SECONDS, seconds, _CHECK_INTERVAL_SECONDS):
            training.train_until(start_ns + second * NANOSECONDS)
            samples.record_until(start_ns + second * NANOSECONDS)
            clock.move_to(start_ns + second * NANOSECONDS)
            before = process_cpu_seconds()
            recorder.advance()
            if second >= min(_WARM_SECONDS, seconds // 2):
                costs.append(process_cpu_seconds() - before)
        episodes = [episode for rule in recorder.runner.evaluations for episode in rule.episodes]
    percent = 100 * statistics.fmean(costs) / _CHECK_INTERVAL_SECONDS
    return Row(
        f"all rules for a running job, {what}",
        percent,
        "% of one core",
        bar=f"≤ {bar_percent:g}%",
        is_met=percent <= bar_percent,
        note=f"a check every {_CHECK_INTERVAL_SECONDS} s for {seconds} s, 120 series; the slowest "
        f"took {1000 * max(costs):.0f} ms; {len(episodes)} findings in a job without faults",
    )


class _Samples:
    """System samples of a running job."""

    def __init__(self, backend: Backend, clock: FakeClock, day: Day) -> None:
        self._writer = Writer(backend, node_folder(NODE), clock)
        self._day = day
        self._next = 0

    def record_until(self, instant_ns: int) -> None:
        """Write all samples before an instant to the store."""
        end = int(np.searchsorted(self._day.times_ns, instant_ns))
        for index in range(self._next, end):
            values = self._day.values[:, index].tolist()
            self._writer.add_sample(int(self._day.times_ns[index]), self._day.series, values)
        self._next = end
        self._writer.flush()
        self._writer.outbox.write_waiting()


def _recorded(steps: int) -> list[Row]:
    """Measure the CPU time of all rules on a recorded job, on one core like `sonde check`."""
    with tempfile.TemporaryDirectory() as folder:
        backend, clock = trained_day(f"{folder}/job", steps)
        before = process_cpu_seconds()
        runner = Runner(JobData(OpenJob(backend, clock)), select_rules())
        runner.advance()
        spent = process_cpu_seconds() - before
        slowest = sorted(runner.evaluations, key=lambda evaluation: -evaluation.seconds)[:5]
    names = ", ".join(f"{evaluation.rule} {evaluation.seconds:.1f} s" for evaluation in slowest)
    return [
        Row(
            f"all rules for a recorded day, 120 series, {steps:,} steps",
            spent,
            "CPU-seconds",
            bar=f"≤ {_CHECK_BAR_SECONDS:g} s",
            is_met=spent <= _CHECK_BAR_SECONDS,
            note=f"slowest: {names}",
        )
    ]


if __name__ == "__main__":
    for row in main(*map(int, sys.argv[1:])):
        print(f"{row.what}: {row.measured:.3g} {row.unit}; {row.note}")
