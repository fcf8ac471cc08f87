"""Keras on each of its backends: one story, with real training runs.

Run by `make test-frameworks`, which installs the backends.
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
from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import COMMAND, PYTHON, STORE, Sonde, plain_environment

pytestmark = pytest.mark.timeout(600)

_PROGRAMS = Path(__file__).parent / "keras_programs"
_RECORDING = (*COMMAND, "run", "--quiet", "--name", "job", "--save", "weights:values,every=10")
_EVERY_STEP = "[budget]\noverhead_percent = 100\n"
_STEPS = 42  # four epochs of ten batches, and two single ones
_SIZES = (*[32] * 9, 12)  # of the batches of an epoch


@dataclass(frozen=True)
class Backend:
    """A backend of Keras, and what is recorded on it."""

    name: str
    framework: str  # that `sonde status` names
    phase: str  # of each step
    has_gradients: bool = False
    not_collected: tuple[str, ...] = ()


BACKENDS = (
    Backend("torch", "torch", "optimizer", has_gradients=True),
    Backend("jax", "keras", "compiled_step", not_collected=("gradients and layer outputs",)),
    Backend(
        "tensorflow",
        "keras",
        "compiled_step",
        not_collected=("gradients, layer outputs and data waits",),
    ),
)
_backends = pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)


@dataclass(frozen=True)
class Story:
    """One program on a backend, run alone and under Sonde."""

    backend: Backend
    folder: Path

    @cached_property
    def alone(self) -> list[str]:
        """The output without Sonde."""
        return self._output("alone", ())

    @cached_property
    def recorded(self) -> list[str]:
        """The output under Sonde."""
        return self._output("recorded", (*_RECORDING, "--"))

    @cached_property
    def job(self) -> Job:
        """The recorded job."""
        assert self.recorded
        return open_job(str(self.folder / "recorded" / STORE / "job"))

    @cached_property
    def status(self) -> Mapping[str, Any]:
        """What `sonde status --json` reports."""
        return self.job.summary

    def printed(self, name: str) -> list[float]:
        """The numbers that the script printed under a name."""
        lines = (line.rpartition(" ") for line in self.recorded)
        return [float.fromhex(value) for text, _, value in lines if text == name]

    def scalars(self, name: str) -> list[float]:
        """The recorded numbers of a name."""
        rows = self.job.scalars(name, mode="train").to_arrow().to_pylist()
        return [row["value"] for row in sorted(rows, key=lambda row: int(row["step"]))]

    def _output(self, name: str, command: tuple[str, ...]) -> list[str]:
        folder = self.folder / name
        folder.mkdir()
        (folder / "sonde.toml").write_text(_EVERY_STEP)
        done = subprocess.run(
            (*command, PYTHON, str(_PROGRAMS / "fit.py")),
            cwd=folder,
            env=environment(self.backend),
            capture_output=True,
            check=True,
            timeout=300,
        )
        return done.stdout.decode().splitlines()


def environment(backend: Backend) -> dict[str, str]:
    """The environment that selects a backend."""
    return {**plain_environment(), "KERAS_BACKEND": backend.name, "TF_CPP_MIN_LOG_LEVEL": "3"}


@pytest.fixture(scope="module", params=BACKENDS, ids=lambda backend: backend.name)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Story:
    return Story(request.param, tmp_path_factory.mktemp(request.param.name))


def test_output_and_weights_are_identical(story: Story) -> None:
    assert story.recorded == story.alone


def test_every_batch_is_a_step_with_phases(story: Story) -> None:
    assert story.status["steps"]["train"] == _STEPS
    assert story.status["steps"]["eval"] == 18  # four batches of each validation, and two others
    assert story.status["steps"]["predict"] == 2
    assert story.status["phases"]["train"]["percent"][story.backend.phase] > 0


def test_losses_of_batches_agree_with_those_that_keras_reports(story: Story) -> None:
    losses = story.scalars("loss")
    assert len(losses) == _STEPS
    epochs = [losses[start : start + 10] for start in range(0, 40, 10)]
    assert [epoch[0] for epoch in epochs] == pytest.approx(story.printed("first loss"), rel=1e-6)
    means = [
        sum(loss * size for loss, size in zip(epoch, _SIZES, strict=True)) / sum(_SIZES)
        for epoch in epochs
    ]
    assert means == pytest.approx(story.printed("loss"), rel=1e-5)
    assert losses[40:] == pytest.approx(story.printed("single loss"), rel=1e-6)


def test_evaluations_equal_those_of_keras(story: Story) -> None:
    evaluations = story.status["evaluations"]
    assert [item["name"] for item in evaluations] == [*["validation"] * 4, "test"]
    losses = [*story.printed("val_loss"), *story.printed("test loss")]
    assert [item["loss"] for item in evaluations] == pytest.approx(losses, rel=1e-6)
    scores = [item["metrics"]["accuracy"] for item in evaluations]
    assert scores == story.printed("val_accuracy") + story.printed("test accuracy")
    assert [item["step"] for item in evaluations] == [10, 20, 30, 40, 40]
    assert {item["samples"] for item in evaluations} == {100}


def test_metrics_and_learning_rates_are_recorded(story: Story) -> None:
    assert story.scalars("accuracy") == pytest.approx(story.printed("accuracy"))
    name = "learning_rate/0" if story.backend.has_gradients else "learning_rate"
    rates = story.scalars(name)
    assert (rates[0], rates[-1]) == pytest.approx((0.01, 0.001))


def test_weights_are_saved_on_schedule(story: Story) -> None:
    kernel = story.job.tensor("sequential/dense/kernel")
    assert {0, 10, 20, 30, 40} <= set(kernel.steps())
    assert kernel.value(step=10).shape == (8, 16)
    names = {row["name"] for row in story.job.tensors().to_arrow().to_pylist()}
    assert ("gradient/sequential/dense/kernel" in names) is story.backend.has_gradients


def test_early_stopping_names_the_best_epoch(story: Story) -> None:
    rows = story.job.observations(kind="early-stopping").to_arrow().to_pylist()
    assert [row["value"] for row in rows] == [39]


def test_status_names_the_framework_and_what_is_not_recorded(story: Story) -> None:
    observed = story.status["seen"]
    assert observed["framework"].split()[0] == story.backend.framework
    assert observed["inside"]
    missing = [item["what"] for item in story.status["not_collected"]]
    assert tuple(missing) == story.backend.not_collected
    assert story.status["exit"]["reason"] == "exit"


@_backends
@pytest.mark.parametrize(
    ("program", "rule"), [("diverging", "LossDiverging"), ("overfitting", "LabelsUnrelated")]
)
def test_a_fault_is_named_by_a_rule(
    sonde: Sonde, backend: Backend, program: str, rule: str
) -> None:
    path = str(_PROGRAMS / f"{program}.py")
    done = sonde.run(
        *("run", "--quiet", "--rules", rule, "--no-report", "--name", "job", PYTHON, path),
        env=environment(backend),
    )
    assert done.returncode == 0, done.stderr
    findings = json.loads(sonde.run("findings", "job", "--json").stdout)
    assert rule in json.dumps(findings)


@_backends
def test_an_exception_of_a_callback_is_the_exit_reason(sonde: Sonde, backend: Backend) -> None:
    script = """
import keras, numpy
class Failing(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 3:
            raise RuntimeError("no space for checkpoint")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(numpy.ones((90, 4)), numpy.ones((90, 1)), 10, verbose=0, callbacks=[Failing()])
"""
    words = ("run", "--quiet", "--no-report", "--name", "job", PYTHON, "-c", script)
    done = sonde.run(*words, env=environment(backend))
    assert done.returncode == 1
    assert b"sonde/hook" not in done.stderr
    status = sonde.status()
    assert status["exit"]["reason"] == "exception"
    assert "no space for checkpoint" in status["exit"]["message"]
    assert status["steps"]["train"] == 4


@_backends
def test_a_job_is_stopped_between_two_batches(sonde: Sonde, backend: Backend) -> None:
    script = """
import keras, numpy
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(numpy.ones((90, 4)), numpy.ones((90, 1)), 10, epochs=1_000_000, verbose=0)
"""
    words = ("run", "--quiet", "--no-report", "--name", "job", PYTHON, "-c", script)
    launcher = sonde.start(*words, env=environment(backend))
    assert eventually(lambda: sonde.runs() and sonde.status()["steps"].get("train", 0) > 5)
    assert sonde.run("stop", "job").returncode == 0
    assert eventually(lambda: launcher.poll() is not None)
    assert sonde.status()["state"] == "stopped"
    assert sonde.status()["exit"]["reason"] == "stopped"


@pytest.mark.parametrize("steps", ["compiled", "eager"])
def test_a_loop_with_a_gradient_tape_is_recorded(sonde: Sonde, steps: str) -> None:
    (sonde.folder / "sonde.toml").write_text(_EVERY_STEP)
    variables = {**environment(BACKENDS[2]), "STEPS": steps}
    path = str(_PROGRAMS / "custom_loop.py")
    words = ("run", "--quiet", "--no-report", "--name", "job", PYTHON, path)
    recorded = sonde.run(*words, env=variables, capture_output=True).stdout.decode()
    alone = subprocess.run([PYTHON, path], env=variables, capture_output=True, check=True)
    assert recorded == alone.stdout.decode()
    printed = [line.split()[1] for line in recorded.splitlines() if line.startswith("loss")]
    job = open_job(str(sonde.job_folder("job")))
    losses = [row["value"] for row in job.scalars("loss").to_arrow().to_pylist()]
    assert losses == [float.fromhex(value) for value in printed]
    assert job.summary["steps"] == {"train": 30}
    phases = job.summary["phases"]["train"]["percent"]
    assert phases["data_wait"] > 0
    assert ("optimizer" in phases) is (steps == "eager")
    names = {row["name"] for row in job.tensors().to_arrow().to_pylist()}
    assert "sequential/dense/kernel" in names
    assert ("gradient/sequential/dense/kernel" in names) is (steps == "eager")
    [missing] = job.summary["not_collected"]
    assert ("gradients" in missing["what"]) is (steps == "compiled")
