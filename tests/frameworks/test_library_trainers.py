"""Ready-made trainers of well-known libraries, unchanged, with and without Sonde.

Run by `make test-frameworks`, which installs the libraries into a separate environment.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from sonde.client.job import Job, open_job
from sonde.results.headline import headline
from tests.journeys.scripts import FOLDER as PRINTING
from tests.journeys.scripts import RunResult
from tests.journeys.sonde_cli import COMMAND, PYTHON, STORE, plain_environment

pytestmark = pytest.mark.timeout(600)

_PROGRAMS = Path(__file__).parent / "programs"
_TIMM = Path(__file__).parents[2] / ".cache" / "timm"
_TORCHRUN = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
_SONDE = (*COMMAND, "run", "--quiet", "--no-report", "--name", "job", "--")

NAMES = sorted(path.stem for path in _PROGRAMS.glob("*.py"))

# program -> training steps and, by the name that it prints, the evaluations of each series
TRAINING_STEPS = {
    "accelerate_loop": 12,
    "fabric_loop": 12,
    "ignite_trainer": 18,
    "keras_on_torch": 18,
    "lightning_autoencoder": 12,
    "lightning_metrics": 15,
    "stable_baselines3_ppo": 64,
    "timm_task": 6,
    "transformers_ddp": 8,
    "transformers_named_sets": 8,
    "trl_fine_tuning": 6,
    "trl_preferences": 6,
}
EVALUATIONS = {
    "accelerate_loop": ("evaluation",),
    "fabric_loop": ("validation",),
    "ignite_trainer": ("train split", "validation"),
    "keras_on_torch": ("validation",),
    "lightning_autoencoder": ("validation",),
    "lightning_metrics": ("validation", "average"),
    "timm_task": ("validation", "average"),
    "transformers_ddp": ("eval_loss",),
    "transformers_named_sets": ("eval_near_loss", "eval_far_loss"),
    "trl_fine_tuning": ("eval_loss",),
    "trl_preferences": ("eval_loss",),
}
EXACT_LOSSES = (
    *("accelerate_loop", "fabric_loop", "ignite_trainer"),
    *("lightning_autoencoder", "lightning_metrics", "timm_task"),
)
LOGGED_LOSSES = (
    "transformers_ddp",
    "transformers_named_sets",
    "trl_fine_tuning",
    "trl_preferences",
)


@dataclass(frozen=True)
class Trained:
    """One program, run alone and under Sonde."""

    name: str
    folder: Path

    @cached_property
    def alone(self) -> RunResult:
        """The result without Sonde."""
        return self._run("alone", ())

    @cached_property
    def recorded(self) -> RunResult:
        """The result under Sonde."""
        return self._run("recorded", _SONDE)

    @cached_property
    def job(self) -> Job:
        """The recorded job."""
        assert self.recorded.code == 0, self.recorded.stderr_lines
        return open_job(str(self.folder / "recorded" / STORE / "job"))

    @cached_property
    def status(self) -> Mapping[str, Any]:
        """What `sonde status --json` reports."""
        assert self.job
        words = (*COMMAND, "status", "job", "--json")
        folder = self.folder / "recorded"
        done = subprocess.run(words, cwd=folder, capture_output=True, check=True, timeout=60)
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def _run(self, way: str, launcher: tuple[str, ...]) -> RunResult:
        folder = self.folder / way
        folder.mkdir(parents=True)
        python = _TORCHRUN if self.name.endswith("_ddp") else (PYTHON,)
        paths = [str(PRINTING), *([str(_TIMM)] if self.name.startswith("timm") else [])]
        done = subprocess.run(
            (*launcher, *python, str(_PROGRAMS / f"{self.name}.py")),
            cwd=folder,
            env={**plain_environment(), "PYTHONHASHSEED": "0", "PYTHONPATH": ":".join(paths)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines())


_trained: dict[str, Trained] = {}


@pytest.fixture
def trained(name: str, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A program that runs once for all its tests."""
    if name not in _trained:
        _trained[name] = Trained(name, tmp_path_factory.mktemp(name))
    return _trained[name]


def recorded_losses(job: Job) -> list[float]:
    rows = job.scalars("loss", mode="train", worker=0, source="hook").to_arrow().to_pylist()
    return [row["value"] for row in sorted(rows, key=lambda row: int(row["step"]))]


@pytest.mark.parametrize("name", NAMES)
def test_the_output_is_identical_with_and_without_sonde(trained: Trained) -> None:
    assert trained.alone.code == 0, trained.alone.stderr_lines
    assert trained.recorded.output == trained.alone.output
    assert trained.recorded.code == 0


@pytest.mark.parametrize("name", TRAINING_STEPS)
def test_every_training_step_is_counted(trained: Trained) -> None:
    assert trained.status["steps"]["train"] == TRAINING_STEPS[trained.name]


@pytest.mark.parametrize("name", ["transformers_ddp", "transformers_named_sets", "trl_fine_tuning"])
def test_headline_knows_how_many_steps_the_trainer_trains(trained: Trained) -> None:
    progress = headline(trained.job)[0]
    steps = TRAINING_STEPS[trained.name]
    assert (progress.title, progress.note) == ("Progress", f"step {steps} of {steps}")


@pytest.mark.parametrize("name", TRAINING_STEPS)
def test_every_phase_of_a_step_is_timed(trained: Trained) -> None:
    phases = {"forward", "backward", "optimizer"}
    percent = trained.status["phases"]["train"]["percent"]
    assert {phase for phase in phases if percent.get(phase, 0.0) > 0} == phases


@pytest.mark.parametrize("name", EXACT_LOSSES)
def test_training_losses_equal_the_printed_ones_to_the_last_bit(trained: Trained) -> None:
    assert recorded_losses(trained.job) == trained.recorded.printed("loss")


@pytest.mark.parametrize("name", LOGGED_LOSSES)
def test_training_losses_equal_the_logged_ones(trained: Trained) -> None:
    logged = trained.recorded.printed("loss")
    losses = recorded_losses(trained.job)
    if trained.name.endswith("_ddp"):  # each worker records the loss of its own samples
        rows = trained.job.scalars("loss", mode="train", worker=1, source="hook")
        second_losses = [row["value"] for row in rows.to_arrow().to_pylist()]
        losses = [(first + second) / 2 for first, second in zip(losses, second_losses, strict=True)]
    assert losses == pytest.approx(logged, rel=1e-5)


def test_keras_losses_average_to_its_epoch_losses(tmp_path_factory: pytest.TempPathFactory) -> None:
    trained = Trained("keras_on_torch", tmp_path_factory.mktemp("keras"))
    losses = recorded_losses(trained.job)
    epochs = [sum(losses[start : start + 6]) / 6 for start in range(0, 18, 6)]
    assert epochs == pytest.approx(trained.recorded.printed("epoch loss"), rel=1e-5)


@pytest.mark.parametrize("name", ["stable_baselines3_ppo"])
def test_the_last_loss_of_every_update_is_the_logged_one(trained: Trained) -> None:
    logged = trained.recorded.printed("last loss")
    assert len(logged) == 4
    assert recorded_losses(trained.job)[15::16] == logged


@pytest.mark.parametrize("name", ["lightning_metrics"])
def test_metrics_that_a_trainer_logs_belong_to_its_evaluations(trained: Trained) -> None:
    evaluations = [
        evaluation
        for evaluation in trained.status["evaluations"]
        if evaluation["name"] == "validation"
    ]
    losses = [evaluation["metrics"]["val_loss"] for evaluation in evaluations]
    assert losses == pytest.approx(trained.recorded.printed("validation"))
    assert all(0 <= evaluation["metrics"]["val_accuracy"] <= 1 for evaluation in evaluations)


@pytest.mark.parametrize("name", EVALUATIONS)
def test_each_evaluation_is_one_result_at_its_training_step(trained: Trained) -> None:
    series: dict[str, list[float]] = {}
    for evaluation in trained.status["evaluations"]:
        # Lightning runs a validation check before training; references print no loss
        if evaluation["step"] and "reference" not in evaluation["name"]:
            series.setdefault(evaluation["name"], []).append(evaluation["loss"])
    printed = [trained.recorded.printed(name) for name in EVALUATIONS[trained.name]]
    expected = [pytest.approx(losses, rel=1e-5) for losses in printed]
    assert list(series.values()) == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_healthy_training_has_no_finding_above_info(trained: Trained) -> None:
    findings = [finding for rule in trained.status["rules"] for finding in rule["findings"]]
    assert [entry["message"] for entry in findings if entry["severity"] != "info"] == []
