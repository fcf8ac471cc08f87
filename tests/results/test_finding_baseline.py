"""A finding beside the rest of its job."""

import pytest

from sonde.records.finding import Episode, Finding, Severity
from sonde.results.finding_baseline import finding_baseline
from tests.fakes.job import FakeJob

CPU = "cpu.utilization_percent"
STEPS, SLOW = 120, range(60, 90)


def trained(slow_seconds: float) -> FakeJob:
    """A job whose data loading is slower in some steps, while the CPU is busier."""
    job = FakeJob()
    worker = job.worker()
    for step in range(STEPS):
        is_slow = step in SLOW
        wait = (slow_seconds if is_slow else 0.1) + 0.001 * (step % 3)
        job.record({CPU: [90.0 if is_slow else 20.0]}, every_seconds=0.0)
        worker.step(step, {"data_wait": wait, "forward": 0.2})
    worker.beat(0.1, 20.0).flush()
    return job.flush().end()


def episode(first: int, last: int) -> Episode:
    finding = Finding("DataLoaderStarvation", Severity.WARNING, "Steps wait.", worker=0)
    return Episode("id", finding, 0, 1 << 62, 3, first_step=first, last_step=last)


def test_slow_steps_are_beside_the_others_with_their_cost() -> None:
    baseline = finding_baseline(trained(0.4).job(), episode(SLOW[0], SLOW[-1]))
    assert baseline.lost_seconds == pytest.approx(0.3 * len(SLOW), rel=0.05)
    assert "100% longer, beyond noise" in baseline.sentence
    assert baseline.table is not None
    rows = {row["quantity"]: row for row in baseline.table.records()}
    assert rows["Data wait"]["change"] == pytest.approx(0.3, rel=0.05)
    assert "Forward" not in rows  # equally long


def test_equal_steps_are_within_noise_and_cost_nothing() -> None:
    baseline = finding_baseline(trained(0.1).job(), episode(SLOW[0], SLOW[-1]))
    assert baseline.lost_seconds is None
    assert "within noise" in baseline.sentence


def test_a_finding_about_all_steps_has_no_baseline() -> None:
    baseline = finding_baseline(trained(0.1).job(), episode(0, STEPS - 1))
    assert baseline.sentence.startswith("The finding covers all steps")
    assert baseline.lost_seconds is None


def test_a_single_step_is_not_judged_by_its_noise() -> None:
    baseline = finding_baseline(trained(0.4).job(), episode(70, 70))
    assert "too few steps" in baseline.sentence
    assert baseline.lost_seconds is None
