"""HostSynchronization: loops that make the host wait, and similar healthy loops."""

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.profiled import ProfiledStep, h200_step_job

MATRIX = "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_TNN"


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("HostSynchronization")["HostSynchronization"]


def waiting(every: int) -> ProfiledStep:
    """60 launches that take as long on the host as on the device, and waits after some of them."""
    step = ProfiledStep()
    for number in range(60):
        step.launch("aten::mm", MATRIX, 1e-4, 1e-4)
        if number % every == every - 1:
            step.wait()
    return step


def test_a_wait_after_every_operation_is_found_with_the_call_that_waits() -> None:
    step = waiting(1)
    [episode] = evaluate(step.job(step.host)).episodes
    finding = episode.finding
    assert "after 60 synchronizations of the host, such as `.item()`" in finding.message
    assert finding.improvement is not None
    [remedy] = finding.improvement.remedies
    assert remedy.gain is not None
    # host and device take half of the time each, one after the other
    assert 1.5 < remedy.gain.high < 2.1
    assert 1 < remedy.gain.low <= remedy.gain.speedup


def test_one_wait_at_the_end_of_a_step_is_healthy() -> None:
    step = waiting(60)
    result = evaluate(step.job(step.host))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_recorded_step_without_synchronizations_is_healthy() -> None:
    assert evaluate(h200_step_job(0.051)).episodes == ()
