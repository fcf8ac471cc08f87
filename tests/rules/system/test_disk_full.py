"""DiskFull: jobs with the fault and similar healthy jobs."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.fakes.training import with_machine

TOTAL = 1e12
AT = np.arange(720.0)  # an hour, a sample every five seconds


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("DiskFull", **parameters)["DiskFull"]


def disk(free: FloatArray, trained: tuple[int, int] | None = None) -> FakeJob:
    curves = {"disk.free_bytes//data": free, "disk.free_percent//data": 100 * free / TOTAL}
    return with_machine(curves, trained or (0, len(free)), 5.0)


def test_a_filling_disk_is_found_with_the_time_left() -> None:
    free = 400e9 - 10e9 * np.floor(AT / 24)  # one of 10 GB every two minutes
    [episode] = evaluate(disk(free)).episodes
    finding = episode.finding
    assert (finding.node, finding.device) == ("node-a", "/data")
    assert (episode.severity, episode.is_open) == (Severity.WARNING, True)
    assert finding.evidence["seconds_left"] == pytest.approx(1320, rel=0.05)
    assert "has 110 GB left and will be full in 22 min" in finding.message


def test_a_full_disk_is_critical() -> None:
    [episode] = evaluate(disk(np.maximum(300e9 - 0.6e9 * AT, 1e9))).episodes
    assert episode.severity is Severity.CRITICAL
    assert "is full: 1 GB (0.1%) left" in episode.finding.message


def test_freed_space_resolves_the_finding() -> None:
    free = np.append(400e9 - 0.5e9 * AT, 390e9 + np.zeros(120))
    [episode] = evaluate(disk(free)).episodes
    assert not episode.is_open


HEALTHY = {
    "plenty": disk(900e9 - 0.05e9 * AT),
    "the last three checkpoints": disk(100e9 - 10e9 * np.minimum(np.floor(AT / 24), 3)),
    "a cache that fills up": disk(100e9 - 40e9 * np.minimum(AT / 200, 1)),
    "data unpacked before training": disk(100e9 - 80e9 * np.minimum(AT / 300, 1), (300, 720)),
    "logs on a small disk": disk(40e6 - 2e4 * AT),
    "never had room": disk(np.zeros(720)),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_disks_are_not_reported(name: str) -> None:
    result = evaluate(HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    result = evaluate(disk(400e9 - 1e9 * AT[:10]))
    assert (result.status, result.reason) == (
        RuleStatus.NOT_ENOUGH_DATA,
        "Not enough data: 10 of 12 system samples. Only samples during training count",
    )


def test_a_job_without_samples_is_not_applicable() -> None:
    result = evaluate(with_machine({"cpu.utilization_percent": [1.0] * 50}, (0, 50)))
    assert result.status is RuleStatus.NOT_APPLICABLE


def test_a_disk_that_fills_steadily_is_found_after_a_minute() -> None:
    assert evaluate(disk(30e9 - 0.5e9 * AT[:14])).episodes
    one_checkpoint = 30e9 - 5e9 * (AT[:14] >= 10).astype(np.float64)
    assert not evaluate(disk(one_checkpoint)).episodes
