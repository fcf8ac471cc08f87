"""Tensor rules report the same findings whenever the runner advances or restarts."""

import numpy as np
import pytest

from sonde.engine.runner import Runner
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.records.finding import Evaluation, Setting
from sonde.rules import Rule, load_rule
from tests.fakes.job import FakeJob
from tests.fakes.training import inspected_steps
from tests.fakes.worker import FakeWorker

STEPS = 130
PARAMETERS: dict[str, dict[str, object]] = {
    "AllZero": {"collection_names": ("weights",)},
    "CheckInputImages": {},
    "ClassImbalance": {"samples": 50},
    "DeadRelu": {},
    "ExplodingTensor": {},
    "NLPSequenceRatio": {},
    "Overfit": {},
    "Overtraining": {"patience_validation": 3},
    "PoorWeightInitialization": {},
    "SaturatedActivation": {},
    "TensorVariance": {"max_threshold": 0.5},
    "UnchangedTensor": {},
    "VanishingGradient": {},
    "WeightUpdateRatio": {},
}
BEGIN = np.linspace(-1, 1, 8)


def all_rules() -> list[Rule]:
    return [
        load_rule(name)(setting=setting, **values)
        for setting in Setting
        for name, values in PARAMETERS.items()
    ]


def record_all_faults(worker: FakeWorker, step: int) -> None:
    """Record one inspection of a job that has all faults at the same time."""
    for index, scale in enumerate((10.0, 1e3, 1e5)):
        worker.add_tensor(f"{index}_input_0", "relu_input")
        worker.statistics(f"{index}_input_0", step, scale * BEGIN)
    worker.add_tensor("tanh_input_0", "tanh_input").statistics("tanh_input_0", step, 50 * BEGIN)
    for name, weights in (("a", BEGIN + step / 100), ("b", BEGIN), ("zero", 0 * BEGIN)):
        worker.add_tensor(name, "weights").statistics(name, step, weights)
        worker.add_tensor(f"gradient/{name}", "gradients")
        size = 1e-12 if name == "a" else 1e-2
        worker.statistics(f"gradient/{name}", step, size * BEGIN)
    counts = {"0.1": 60, "1": 60, "5": 60, "10": 60, "50": 64}
    activity = {"inactive": counts, "samples": 64}
    worker.observation("unit-activity", "relu_output_0", step, activity, value=64)
    channels = {"means": [120.0], "stds": [60.0]}
    worker.observation("input-channels", "input_0", step, channels, value=32)
    tokens = {"counts": {"0": 400, "1": 40, "2": 30, "3": 30}}
    worker.observation("input-tokens", "input_1", step, tokens, value=500)
    worker.observation("class-hits", "predictions", step, {"0": [40, 0], "1": [1, 39]}, value=80)


def evaluate(worker: FakeWorker, step: int) -> None:
    for batch in range(2):
        number = 2 * (step // 10) + batch
        worker.scalar("loss", number, 0.5 + step / 50, mode="eval")
        worker.step(number, {"forward": 0.05}, mode="eval")


def summaries(evaluations: tuple[Evaluation, ...]) -> list[tuple[object, ...]]:
    return [
        (
            evaluation.rule,
            evaluation.status,
            evaluation.datapoints,
            evaluation.triggered,
            evaluation.reason,
            evaluation.episodes,
        )
        for evaluation in evaluations
    ]


@pytest.mark.parametrize(
    ("cuts", "is_killed"), [({12, 37, 38, 81, 119}, True), (set(range(3, STEPS, 25)), False)]
)
def test_findings_do_not_depend_on_when_the_runner_advances(
    cuts: set[int], is_killed: bool
) -> None:
    job = FakeJob()
    worker = job.worker()
    live = Runner(JobData(OpenJob(job.backend, job.clock)), all_rules())
    inspected = set(inspected_steps(STEPS))
    for step in range(STEPS):
        if step in inspected:
            record_all_faults(worker, step)
        worker.scalar("loss", step, float("nan") if step > 120 else 2.3 - step / 100)
        if step % 50 == 49:
            counts = {"0": 900, "1": 10}
            worker.observation("label-histogram", "labels", step, counts, value=910)
        worker.step(step, {"forward": 0.1})
        if step % 10 == 9:
            evaluate(worker, step)
        if step in cuts:
            worker.flush()
            live.advance()
            if is_killed:
                stored = live.progress
                live = Runner(JobData(OpenJob(job.backend, job.clock)), all_rules(), stored)
    worker.flush()
    job.end()
    live.advance()
    complete = Runner(JobData(OpenJob(job.backend, job.clock)), all_rules())
    complete.advance()
    assert summaries(live.evaluations) == summaries(complete.evaluations)
    firing = {evaluation.rule for evaluation in complete.evaluations if evaluation.episodes}
    assert firing >= PARAMETERS.keys() - {"WeightUpdateRatio"}
