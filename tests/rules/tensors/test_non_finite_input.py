"""NonFiniteInput: planted faults and their healthy twins."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob


def check(job: FakeJob) -> Evaluation:
    return job.job().check("NonFiniteInput")["NonFiniteInput"]


def training(subject: str = "", where: str = "", kind: str = "nan") -> FakeJob:
    """The batch of step 20 is not finite; the hook reports it one step later."""
    job = FakeJob()
    worker = job.worker(3, world_size=1)
    for step in range(40):
        worker.observation("batch-hash", "input", step, value=1000 + step)
        if step == 21 and where:
            detail = {"found": kind, "in": where}
            worker.observation("first-non-finite", subject, step, detail, value=20)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


@pytest.mark.parametrize(("kind", "word"), [("nan", "NaN"), ("inf", "infinite values")])
def test_non_finite_batch_is_critical_and_named(kind: str, word: str) -> None:
    [episode] = check(training("input 0", "input", kind)).episodes
    finding = episode.finding
    assert (finding.severity, finding.worker) == (Severity.CRITICAL, 3)
    assert (episode.first_step, episode.last_step) == (20, 20)
    assert f"input 0 contains {word} in the batch of step 20 on worker 3" in finding.message
    assert (finding.evidence["found"], finding.evidence["batch_hash"]) == (kind, 1020)


@pytest.mark.parametrize(
    ("subject", "where"), [("fc1", "output"), ("fc1.weight", "weight"), ("fc2", "input"), ("", "")]
)
def test_non_finite_values_from_elsewhere_are_not_reported(subject: str, where: str) -> None:
    result = check(training(subject, where))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
