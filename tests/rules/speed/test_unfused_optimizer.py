"""UnfusedOptimizer: jobs with the fault and similar healthy jobs."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.fakes.profiled import ProfiledStep

SLOW = {"forward": 0.02, "backward": 0.03, "optimizer": 0.05}
QUICK = {"forward": 0.04, "backward": 0.058, "optimizer": 0.002}


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("UnfusedOptimizer")["UnfusedOptimizer"]


def updating(
    *operators: str, optimizer: str = "AdamW", parameters: int = 40, phases: dict[str, float] = SLOW
) -> FakeJob:
    """A job on a CPU whose optimizer runs these operators for each parameter."""
    step = ProfiledStep().work("aten::addmm", 0.05)
    start = step.host
    for _ in range(parameters):
        for operator in operators:
            step.work(operator, 4e-4)
    step.annotate(f"Optimizer.step#{optimizer}.step", start)
    return step.job(0.0, phases=phases, device="cpu")


def test_parameters_that_are_updated_one_by_one_are_found_with_the_fused_optimizer() -> None:
    [episode] = evaluate(updating("aten::lerp_", "aten::addcmul_", "aten::addcdiv_")).episodes
    finding = episode.finding
    assert finding.severity is Severity.INFO
    assert finding.message == (
        "AdamW updates about 40 parameters one by one, which takes 50% of each step (50 ms)."
    )
    assert finding.improvement is not None
    [remedy] = finding.improvement.remedies
    assert (remedy.title, "fused=True" in remedy.code) == ("fused AdamW", True)
    assert remedy.gain is not None
    assert remedy.gain.speedup == pytest.approx(1 / (1 - 0.7 * 0.5))


@pytest.mark.parametrize(
    "job",
    [
        updating("aten::_fused_adamw_", parameters=1),
        updating("aten::_foreach_lerp_", "aten::_foreach_addcdiv_", parameters=1),
        updating("aten::lerp_", "aten::addcmul_", "aten::addcdiv_", phases=QUICK),
        updating("aten::lerp_", "aten::addcmul_", "aten::addcdiv_", parameters=4),
        updating("aten::add_", optimizer="Shampoo"),
    ],
)
def test_fused_quick_and_unknown_optimizers_are_healthy(job: FakeJob) -> None:
    result = evaluate(job)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_job_without_a_profile_lacks_data() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(60):
        worker.step(step, SLOW)
    worker.flush()
    assert evaluate(job.end()).reason == "no operators were profiled"
