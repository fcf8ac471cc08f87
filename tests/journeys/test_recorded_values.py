"""Recorded values equal those that the script itself counts and computes."""

import math
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest

from sonde.client.job import Job
from tests.journeys.scripts import Scripts

pytestmark = pytest.mark.timeout(600)

# script -> completed steps of its workers: train, eval
STEPS = {
    "accelerate_loop": [(8, 0)],
    "accumulation_clipping": [(12, 0)],
    "autocast_bf16": [(24, 0)],
    "checkpoint_resume": [(30, 0)],
    "cnn_evaluation": [(30, 6)],
    "compiled_fullgraph": [(12, 2)],
    "compiled_model": [(12, 0)],
    "ddp": [(6, 0), (6, 0)],
    "exits": [(13, 0)],
    "forked": [(20, 0), (10, 0)],
    "fsdp2": [(10, 0), (10, 0)],
    "fsdp2_adamw": [(60, 0), (60, 0)],
    "gan": [(25, 0)],
    "gan_two_backwards": [(25, 0)],
    "gru_packed": [(20, 0)],
    "manual_sgd": [(30, 3)],
    "huggingface_trainer": [(8, 4)],
    "inference": [(0, 20)],
    "saves_all_values": [(12, 0)],
    "lbfgs": [(8, 0)],
    "lightning_module": [(8, 8)],
    "loader_spawned": [(20, 0)],
    "loader_workers": [(18, 0)],
    "unusual_parameters": [(15, 0)],
    "optimizer_in_backward": [(20, 0)],
    "own_hooks": [(12, 0)],
    "own_optimizer": [(20, 0)],
    "plain_loop": [(40, 0)],
    "policy_gradient": [(20, 20)],
    "raises": [(9, 0)],
    "raises_and_continues": [(8, 0)],
    "activation_checkpointing": [(12, 0)],
    "releases_memory": [(10, 0)],
    "scaler_fp16": [(20, 0)],
    "spawned": [(15, 0), (15, 0)],
    "strict_settings": [(12, 0)],
    "transformer_tied": [(16, 0)],
    "alternating_optimizers": [(60, 0)],
}

# script -> backward passes per step
MICRO_STEPS = {
    "accelerate_loop": 4,
    "accumulation_clipping": 4,
    "ddp": 2,
    "gan": 1,
    "gan_two_backwards": 1,
    "huggingface_trainer": 4,
    "lightning_module": 3,
    "plain_loop": 1,
}

# one loss per step, printed as `loss`
LOSS_PER_STEP = (
    *("autocast_bf16", "cnn_evaluation", "compiled_fullgraph", "compiled_model", "exits"),
    *("fsdp2_adamw", "manual_sgd", "lbfgs", "own_optimizer", "alternating_optimizers"),
    *("gru_packed", "saves_all_values", "loader_spawned", "loader_workers", "unusual_parameters"),
    *(
        "optimizer_in_backward",
        "plain_loop",
        "policy_gradient",
        "raises",
        "activation_checkpointing",
    ),
    *("releases_memory", "scaler_fp16", "strict_settings", "transformer_tied"),
)

# one printed loss per backward pass, divided by the number of passes
DIVIDED = {"accelerate_loop": 4, "accumulation_clipping": 4, "lightning_module": 3}

# loops whose steps the hook cannot record
UNSEEN = ("autograd_grad", "compiled_step", "functional")


def recorded(job: Job, name: str, mode: str = "train", worker: int = 0) -> list[float]:
    """Return the values of a scalar in order of steps."""
    rows = job.scalars(name, mode=mode, worker=worker, source="hook").to_arrow().to_pylist()
    return [row["value"] for row in sorted(rows, key=lambda row: int(row["step"]))]


def steps_of(job: Job, worker: int, mode: str) -> list[int]:
    return [int(row["step"]) for row in job.steps(mode, worker=worker).to_arrow().to_pylist()]


def means(numbers: Iterable[float], count: int) -> list[float]:
    result = list(numbers)
    return [sum(result[at : at + count]) / count for at in range(0, len(result), count)]


@pytest.mark.parametrize("name", STEPS)
def test_step_counts_match_the_script(name: str, scripts: Scripts) -> None:
    job = scripts.job(name)
    assert len(job.workers) == len(STEPS[name])
    for worker, (train, evaluation) in enumerate(STEPS[name]):
        assert steps_of(job, worker, "train") == list(range(train))
        assert steps_of(job, worker, "eval") == list(range(evaluation))


@pytest.mark.parametrize("name", MICRO_STEPS)
def test_backward_passes_are_recorded_as_micro_steps(name: str, scripts: Scripts) -> None:
    rows = scripts.job(name).steps("train").to_arrow().to_pylist()
    assert {row["micro_steps"] for row in rows} == {MICRO_STEPS[name]}


def test_steps_skipped_by_a_gradient_scaler_are_marked(scripts: Scripts) -> None:
    outcome = scripts.recorded("scaler_fp16")
    scales = [2.0**24, *outcome.printed("scale")]
    expected = [after < before for before, after in pairwise(scales)]
    rows = scripts.job("scaler_fp16").steps("train").to_arrow().to_pylist()
    assert [row["skipped"] for row in rows] == expected
    assert 0 < sum(expected) < 20


@pytest.mark.parametrize("name", UNSEEN)
def test_loops_whose_steps_cannot_be_recorded_have_a_notice(name: str, scripts: Scripts) -> None:
    assert scripts.job(name).summary["not_collected"]


@pytest.mark.parametrize("name", ["manual_sgd", "own_optimizer"])
def test_steps_without_an_optimizer_are_counted_by_backward_passes(
    name: str, scripts: Scripts
) -> None:
    message = {notice["what"]: notice["text"] for notice in scripts.job(name).summary["notices"]}
    assert message["training steps"] == "counted by backward passes: no torch optimizer has stepped"


@pytest.mark.parametrize("name", LOSS_PER_STEP)
def test_losses_match_the_script_bitwise(name: str, scripts: Scripts) -> None:
    outcome = scripts.recorded(name)
    assert recorded(scripts.job(name), "loss") == outcome.printed("loss")


@pytest.mark.parametrize("name", DIVIDED)
def test_losses_are_recorded_before_division_for_accumulation(name: str, scripts: Scripts) -> None:
    outcome = scripts.recorded(name)
    expected = means(outcome.printed("loss"), DIVIDED[name])
    job = scripts.job(name)
    assert recorded(job, "loss") == pytest.approx(expected, rel=1e-6)
    divided = [loss / DIVIDED[name] for loss in expected]
    assert recorded(job, "loss/root") == pytest.approx(divided, rel=1e-6)
    assert set(recorded(job, "loss/factor")) == {float(DIVIDED[name])}


def test_trainer_losses_match_the_log(scripts: Scripts) -> None:
    outcome = scripts.recorded("huggingface_trainer")
    job = scripts.job("huggingface_trainer")
    assert recorded(job, "loss") == pytest.approx(outcome.printed("loss"), rel=1e-6)
    rows = job.scalars("loss", source="huggingface").to_arrow().to_pylist()
    assert [row["value"] for row in rows] == pytest.approx(outcome.printed("loss"), rel=1e-6)
    logged = job.scalars("eval_loss", source="huggingface").to_arrow().to_pylist()
    assert [row["value"] for row in logged] == pytest.approx(outcome.printed("eval_loss"), rel=1e-6)


def test_losses_of_two_optimizers_are_recorded_separately(scripts: Scripts) -> None:
    outcome = scripts.recorded("gan")
    job = scripts.job("gan")
    losses = {name: recorded(job, name) for name in ("loss/0", "loss/1")}
    assert losses == {"loss/0": outcome.printed("generator"), "loss/1": outcome.printed("critic")}


def test_losses_of_backward_calls_on_different_lines_are_added(scripts: Scripts) -> None:
    outcome = scripts.recorded("gan_two_backwards")
    job = scripts.job("gan_two_backwards")
    assert recorded(job, "loss/0") == outcome.printed("generator")
    assert recorded(job, "loss/1") == pytest.approx(outcome.printed("critic"), rel=1e-6)


def test_every_worker_records_the_loss_of_its_shard(scripts: Scripts) -> None:
    outcome = scripts.recorded("fsdp2")
    job, reported = scripts.job("fsdp2"), outcome.printed("loss")
    assert recorded(job, "loss", worker=0) == reported[0::2]
    assert recorded(job, "loss", worker=1) == reported[1::2]


def test_losses_continue_from_the_checkpoint(scripts: Scripts) -> None:
    outcome = scripts.recorded("checkpoint_resume")
    expected = [outcome.printed(f"loss {step}")[0] for step in range(30)]
    assert recorded(scripts.job("checkpoint_resume"), "loss") == expected


def test_evaluation_losses_are_recorded_with_their_steps(scripts: Scripts) -> None:
    outcome = scripts.recorded("cnn_evaluation")
    job = scripts.job("cnn_evaluation")
    assert recorded(job, "loss", mode="eval") == outcome.printed("evaluation loss")


def test_loss_scales_are_recorded_per_step(scripts: Scripts) -> None:
    outcome = scripts.recorded("scaler_fp16")
    expected = [2.0**24, *outcome.printed("scale")[:-1]]
    assert recorded(scripts.job("scaler_fp16"), "loss_scale") == expected


@pytest.mark.parametrize("name", ["accumulation_clipping", "transformer_tied", "accelerate_loop"])
def test_gradient_norms_match_the_return_value_of_clipping(name: str, scripts: Scripts) -> None:
    outcome = scripts.recorded(name)
    assert recorded(scripts.job(name), "gradient_norm") == outcome.printed("norm")


def test_clipping_is_recorded_with_its_factor(scripts: Scripts) -> None:
    outcome = scripts.recorded("accumulation_clipping")
    expected = [min(1.0, 0.5 / (norm + 1e-6)) for norm in outcome.printed("norm")]
    factors = recorded(scripts.job("accumulation_clipping"), "clip_factor")
    assert factors == pytest.approx(expected, rel=1e-6)


def test_gradient_norms_and_learning_rates_match_the_script(scripts: Scripts) -> None:
    outcome = scripts.recorded("saves_all_values")
    job = scripts.job("saves_all_values")
    assert recorded(job, "gradient_norm") == pytest.approx(outcome.printed("norm"), rel=1e-6)
    for group in (0, 1):
        assert recorded(job, f"learning_rate/{group}") == outcome.printed(f"rate {group}")


def test_saved_tensors_match_bitwise(scripts: Scripts) -> None:
    job = scripts.job("saves_all_values")
    account = np.load(scripts.folder("saves_all_values") / "account.npz")
    compared = Counter[str]()
    for name in account.files:
        if name in ("input", "relu"):
            continue
        first = 1 if name.startswith("optimizer_state/") else 0
        for step, expected in enumerate(account[name], first):
            value = job.tensor(name).value(step)
            assert value.dtype == expected.dtype
            assert value.tobytes() == expected.tobytes(), f"{name} at step {step}"
            compared[name.partition("/")[0]] += 1
    assert compared["gradient"] == 5 * 12
    assert compared["optimizer_state"] == 5 * 11
    assert compared["labels"] == 12


@pytest.mark.parametrize(
    ("name", "reported"), [("relu_output_0", "relu"), ("fc1_input_0", "input")]
)
def test_saved_activations_match_bitwise(name: str, reported: str, scripts: Scripts) -> None:
    job = scripts.job("saves_all_values")
    account = np.load(scripts.folder("saves_all_values") / "account.npz")
    for step, expected in enumerate(account[reported]):
        assert job.tensor(name).value(step).tobytes() == expected.tobytes()


def test_reductions_match_numpy(scripts: Scripts) -> None:
    job = scripts.job("saves_all_values")
    account = np.load(scripts.folder("saves_all_values") / "account.npz")
    for name in ("fc1.weight", "gradient/fc2.weight", "gradient/scale"):
        values = account[name].astype(np.float64)
        flat = values.reshape(len(values), -1)
        expected = {
            "min": flat.min(1),
            "max": flat.max(1),
            "mean": flat.mean(1),
            "std": flat.std(1),
            "l2_norm": np.sqrt((flat**2).sum(1)),
            "abs_mean": np.abs(flat).mean(1),
        }
        for reduction, numbers in expected.items():
            [series] = job.tensor(name).reduction(reduction).series
            assert series.values == pytest.approx(numbers, rel=1e-6), (name, reduction)


def test_shards_add_up_to_the_whole_tensor(scripts: Scripts) -> None:
    outcome = scripts.recorded("fsdp2")
    job = scripts.job("fsdp2")
    squares = np.zeros(10)
    for name in job.tensors("gradient/*"):
        [series] = job.tensor(name).reduction("l2_norm").series
        squares += np.asarray(series.values) ** 2
    # clipped to 1
    expected = [min(1.0, norm) for norm in outcome.printed("norm")]
    assert np.sqrt(squares) == pytest.approx(expected, rel=1e-4)
    assert math.isfinite(squares.sum())
