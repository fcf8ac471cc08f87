"""Time breakdown of a range: totals match an independent count."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.clock import NANOSECONDS
from tests.fakes.job import FakeJob
from tests.web.api_client import ApiClient

TICK = 0.25  # all intervals start and end at multiples of it, so ticks can be counted
FULL_WINDOW = 40
NAMES = ("forward", "backward", "collective", "mine")

PhaseTicks = tuple[str, int, int]  # name, first tick, number of ticks

stretches = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(0, FULL_WINDOW - 1), st.integers(1, 12)),
    max_size=12,
)


def recorded(intervals: list[PhaseTicks], steps: list[tuple[int, int]]) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for name, first, count in intervals:
        category = "user" if name == "mine" else "phase"
        worker.span(name, first * TICK, count * TICK, category=category)
    for number, (first, count) in enumerate(steps):
        worker.span("step", first * TICK, count * TICK, number, "step")
    worker.flush()
    job.clock.advance(FULL_WINDOW * TICK)
    return job.end()


def owners(intervals: list[PhaseTicks]) -> list[str | None]:
    """Return the phase of each tick: the latest to begin, or the shortest of those."""
    ticks: list[str | None] = [None] * (FULL_WINDOW + 20)
    order = sorted(intervals, key=lambda interval: (interval[1], -interval[2]))
    for name, first, count in order:
        ticks[first : first + count] = [name] * count
    return ticks


def query(job: FakeJob, first: int, last: int) -> Any:
    start = job.job().facts.start_ns or 0
    t0, t1 = start / NANOSECONDS + first * TICK, start / NANOSECONDS + last * TICK
    return ApiClient(job).document("breakdown", t0=t0, t1=t1)


@settings(max_examples=60, deadline=None)
@given(stretches, st.integers(0, FULL_WINDOW - 1), st.integers(1, FULL_WINDOW))
def test_totals_match_a_count_tick_by_tick(
    intervals: list[PhaseTicks], first: int, length: int
) -> None:
    last = min(FULL_WINDOW, first + length)
    answer = query(recorded(intervals, []), first, last)
    expected = {name: owners(intervals)[first:last].count(name) * TICK for name in NAMES}
    seconds_by_phase = {phase["name"]: phase["seconds"] for phase in answer["phases"]}
    for name, seconds in expected.items():
        assert seconds_by_phase.get(name, 0.0) == pytest.approx(seconds, abs=1e-6)
    assert answer["other_seconds"] == pytest.approx(
        (last - first) * TICK - sum(expected.values()), abs=1e-6
    )


@settings(max_examples=30, deadline=None)
@given(stretches, st.integers(0, FULL_WINDOW - 1), st.integers(1, FULL_WINDOW))
def test_step_time_outside_all_phases_counts_as_between(
    intervals: list[PhaseTicks], first: int, length: int
) -> None:
    last = min(FULL_WINDOW, first + length)
    steps = [(0, 10), (10, 5), (20, 15)]
    answer = query(recorded(intervals, steps), first, last)
    in_step = [any(a <= tick < a + n for a, n in steps) for tick in range(FULL_WINDOW)]
    free = [owner is None for owner in owners(intervals)]
    ticks = sum(in_step[tick] and free[tick] for tick in range(first, last))
    seconds_by_phase = {phase["name"]: phase["seconds"] for phase in answer["phases"]}
    assert seconds_by_phase.get("between", 0.0) == pytest.approx(ticks * TICK, abs=1e-6)


def test_a_phase_has_its_count_mean_p95_and_share() -> None:
    job = FakeJob()
    worker = job.worker()
    for number in range(10):
        worker.step(number, {"forward": 0.5, "backward": 1.5 if number else 3.5})
    worker.flush()
    answer = ApiClient(job.end()).document("breakdown")
    forward, backward = answer["phases"]
    assert (forward["name"], forward["count"], forward["seconds"]) == ("forward", 10, 5.0)
    assert forward["share"] == pytest.approx(5 / 22)
    assert backward["mean"] == pytest.approx(1.7)
    assert backward["p95"] == pytest.approx(2.6)
    assert answer["steps"]["count"] == 10
    assert answer["seconds"] == pytest.approx(22.0)


def test_a_range_has_its_own_shares_and_those_of_the_run() -> None:
    job = FakeJob()
    worker = job.worker()
    for number in range(4):
        worker.step(number, {"data_wait": 1.0 if number == 3 else 0.0, "forward": 1.0})
    worker.flush()
    start = (job.job().facts.start_ns or 0) / NANOSECONDS
    answer = ApiClient(job.end()).document("breakdown", t0=start + 3, t1=start + 5)
    shares = {phase["name"]: (phase["share"], phase["run_share"]) for phase in answer["phases"]}
    assert shares["data_wait"] == (0.5, pytest.approx(0.2))


def test_system_means_are_computed_from_samples_not_buckets() -> None:
    values = [float(number) for number in range(40)]
    job = FakeJob().record(
        {
            "cpu.utilization_percent": values,
            "gpu.utilization_percent/gpu0": [100.0] * 40,
            "gpu.utilization_percent/gpu1": [0.0] * 40,
        }
    )
    start = (job.job().facts.start_ns or 0) / NANOSECONDS
    system = ApiClient(job.end()).document("breakdown", t0=start + 5, t1=start + 7)["system"]
    assert system["range"]["cpu.utilization_percent"]["mean"] == pytest.approx(11.5)
    assert system["run"]["cpu.utilization_percent"]["mean"] == pytest.approx(19.5)
    assert system["range"]["gpu.utilization_percent"]["mean"] == 50.0
    assert system["range"]["gpu.utilization_percent"]["devices"] == {"gpu0": 100.0, "gpu1": 0.0}


def test_a_profile_splits_a_phase_into_modules() -> None:
    job = FakeJob()
    worker = job.worker()
    worker.operation("aten::linear", "operator", 0.0, 0.6, module="body.0")
    worker.operation("aten::mm", "operator", 0.1, 0.2, module="body.1")
    worker.operation("aten::relu", "operator", 0.6, 0.2)  # outside all modules
    worker.operation("aten::loss", "operator", 1.0, 1.0, module="head")
    worker.span("operators", 0.0, 2.0, category="window")
    for number in range(2):
        worker.step(number, {"forward": 1.0, "backward": 1.0})
    worker.flush()
    phases = {
        entry["name"]: entry for entry in ApiClient(job.end()).document("breakdown")["phases"]
    }
    children = {entry["name"]: entry["seconds"] for entry in phases["forward"]["children"]}
    assert children == {"body.0": pytest.approx(0.8), "body.1": pytest.approx(0.4)}
    assert phases["forward"]["children"][0]["share"] == pytest.approx(0.2)
