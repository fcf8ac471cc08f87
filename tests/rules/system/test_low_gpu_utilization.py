"""LowGPUUtilization: jobs with the fault and similar healthy jobs."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_gpus

RNG = np.random.default_rng(0)


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    values = {"window": 100, **parameters}
    return job.job().check("LowGPUUtilization", **values)["LowGPUUtilization"]


def busy(samples: int, level: float = 95.0) -> FloatArray:
    return np.asarray(np.clip(level + RNG.uniform(-4, 4, samples), 0, 100))


def starved(samples: int) -> FloatArray:
    return np.where(np.arange(samples) % 5 < 2, 1.0, 97.0)


def kinds(evaluation: Evaluation) -> dict[str | None, object]:
    return {
        episode.finding.device: episode.finding.evidence["kind"] for episode in evaluation.episodes
    }


def test_an_underused_gpu_is_named() -> None:
    job = with_gpus({"gpu0": busy(300), "gpu1": busy(300, 30.0)}, (0, 300))
    result = evaluate(job)
    assert kinds(result) == {"gpu1": "underused"}
    [episode] = result.episodes
    assert episode.finding.message.startswith("gpu1 on node-a is underused")
    assert episode.finding.evidence["gpu_hours_lost"] == pytest.approx(0.7 * 100 / 3600, rel=0.1)


def test_a_fluctuating_gpu_is_distinguished_from_an_underused_one() -> None:
    assert kinds(evaluate(with_gpus({"gpu0": starved(300)}, (0, 300)))) == {"gpu0": "fluctuating"}


def test_the_finding_is_resolved() -> None:
    curve = np.concatenate([starved(300), busy(300)])
    [episode] = evaluate(with_gpus({"gpu0": curve}, (0, 600))).episodes
    assert not episode.is_open


HEALTHY = {
    "busy": (busy(400), (0, 400)),
    "idle before training": (np.concatenate([np.zeros(300), busy(300)]), (300, 600)),
    "idle after training": (np.concatenate([busy(300), np.zeros(400)]), (0, 300)),
    "one long pause": (np.concatenate([busy(200), np.zeros(40), busy(260)]), (0, 500)),
    "one bad window": (np.concatenate([busy(200), starved(100), busy(200)]), (0, 500)),
    "not used at all": (np.zeros(400), (0, 400)),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_gpus_are_not_reported(name: str) -> None:
    curve, trained = HEALTHY[name]
    result = evaluate(with_gpus({"gpu0": curve}, trained))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_job_without_a_gpu_is_not_applicable() -> None:
    result = evaluate(FakeJob().record({"cpu.user_percent": [1.0] * 50}).end())
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert result.reason == "no samples of gpu.utilization_percent recorded"


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    result = evaluate(with_gpus({"gpu0": busy(50)}, (0, 50)))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert "of 200 system samples" in (result.reason or "")


def test_without_steps_a_thousand_samples_are_skipped() -> None:
    curve = np.concatenate([busy(1000), busy(220, 20.0)])
    result = evaluate(with_gpus({"gpu0": curve}, None))
    assert kinds(result) == {"gpu0": "underused"}
    assert evaluate(with_gpus({"gpu0": curve[:1000]}, None)).episodes == ()


def test_an_explicit_patience_applies() -> None:
    curve = np.concatenate([np.full(260, 20.0), busy(300)])
    assert evaluate(with_gpus({"gpu0": curve}, (0, 560)), patience=0).episodes
    assert evaluate(with_gpus({"gpu0": curve}, (0, 560)), patience=200).episodes == ()


def test_classic_setting_applies_the_documented_criterion() -> None:
    low = np.full(100, 69.0)
    dipping = np.where(np.arange(100) < 6, 5.0, 90.0)
    steady = np.where(np.arange(100) < 4, 5.0, 90.0)
    curve = np.concatenate([low, dipping, steady])
    result = evaluate(
        with_gpus({"gpu0": curve}, (0, 300)), setting="classic", window=100, patience=0
    )
    assert result.triggered == 2
    assert result.episodes[-1].finding.evidence["kind"] == "fluctuating"
