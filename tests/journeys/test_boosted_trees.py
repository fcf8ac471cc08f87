"""Libraries of boosted trees: one story for every adapter, with real training runs."""

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

pytestmark = pytest.mark.timeout(300)

_PROGRAMS = Path(__file__).parent / "boosting"
_RECORDING = (*COMMAND, "run", "--quiet", "--name", "job", "--save", "trees:values,every=10")


@dataclass(frozen=True)
class Library:
    """A library of boosted trees, and what its program trains."""

    name: str
    version: str  # major
    inspected: tuple[str, ...]  # subjects of observations of the finished model
    rounds: int = 30


_INSPECTED = ("feature_importance/gain", "train", "validation")
LIBRARIES = (
    Library("xgboost", "3", (*_INSPECTED, "average_shap")),
    Library("lightgbm", "4", _INSPECTED),
)


@dataclass(frozen=True)
class Story:
    """One program, run alone and under Sonde."""

    library: Library
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
        lines = (line.rpartition(" ") for line in self.alone)
        return [float.fromhex(value) for text, _, value in lines if text == name]

    def _output(self, name: str, command: tuple[str, ...]) -> list[str]:
        folder = self.folder / name
        folder.mkdir()
        program = str(_PROGRAMS / f"{self.library.name}_train.py")
        done = subprocess.run(
            (*command, PYTHON, program),
            cwd=folder,
            env=plain_environment(),
            capture_output=True,
            check=True,
            timeout=200,
        )
        return done.stdout.decode().splitlines()


@pytest.fixture(scope="module", params=LIBRARIES, ids=lambda library: library.name)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Story:
    return Story(request.param, tmp_path_factory.mktemp(request.param.name))


def test_output_and_model_are_identical(story: Story) -> None:
    assert story.recorded == story.alone


def test_every_round_is_a_step_with_phases(story: Story) -> None:
    assert story.status["steps"] == {"train": story.library.rounds}
    phases = story.status["phases"]["train"]["percent"]
    assert phases["tree_growth"] > 0
    assert phases["evaluation"] > 0


def test_training_losses_equal_those_the_script_prints(story: Story) -> None:
    rows = story.job.scalars("loss").to_arrow().to_pylist()
    assert [row["value"] for row in rows] == story.printed("loss")
    assert [row["step"] for row in rows] == list(range(story.library.rounds))


def test_evaluations_equal_those_the_script_prints(story: Story) -> None:
    evaluations = story.status["evaluations"]
    assert {item["name"] for item in evaluations} == {"validation"}
    assert [item["loss"] for item in evaluations] == story.printed("validation loss")
    scores = [item["metrics"]["auc"] for item in evaluations]
    assert scores == story.printed("validation auc")
    assert [item["step"] for item in evaluations] == list(range(1, story.library.rounds + 1))


def test_the_learning_rate_is_recorded(story: Story) -> None:
    rows = story.job.scalars("learning_rate").to_arrow().to_pylist()
    assert [row["value"] for row in rows] == pytest.approx([0.1])


def test_a_requested_collection_is_saved_on_schedule(story: Story) -> None:
    depth = story.job.tensor("trees/depth")
    assert list(depth.steps()) == [0, 10, 20]
    assert 1 <= float(depth.value(step=10)) <= 8


def test_the_finished_model_is_inspected(story: Story) -> None:
    rows = story.job.observations().to_arrow().to_pylist()
    final = {row["subject"] for row in rows if row["step"] == story.library.rounds - 1}
    assert set(story.library.inspected) <= final
    [parameters] = [row for row in rows if row["kind"] == "hyperparameters"]
    assert json.loads(parameters["detail"])["values"]


def test_status_names_the_library_and_what_is_not_recorded(story: Story) -> None:
    observed = story.status["seen"]
    name, _, version = observed["framework"].partition(" ")
    assert (name, version.partition(".")[0]) == (story.library.name, story.library.version)
    assert observed["inside"]
    assert story.status["not_collected"] == []
    assert story.status["exit"]["reason"] == "exit"


def test_the_report_shows_predictions_and_features(story: Story) -> None:
    assert story.status["exit"]
    folder = story.folder / "recorded" / STORE / "job" / "report"
    document = json.loads((folder / "report.json").read_text())
    assert document["failed"] == {}
    titles = ("Boosted trees", "Feature importance", "Confusion matrix", "ROC curve")
    page = (folder / "report.html").read_text()
    assert [title for title in titles if title not in page] == []


def test_an_exception_of_a_callback_is_the_exit_reason(sonde: Sonde) -> None:
    script = """
import numpy, xgboost
class Failing(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        if epoch == 3:
            raise RuntimeError("no space for checkpoint")
data = xgboost.DMatrix(numpy.arange(40.0).reshape(20, 2), label=numpy.arange(20) % 2)
xgboost.train({"nthread": 1}, data, 9, callbacks=[Failing()])
"""
    done = sonde.run("run", "--quiet", "--name", "job", PYTHON, "-c", script)
    assert done.returncode == 1
    assert b"sonde/hook" not in done.stderr
    status = sonde.status()
    assert status["exit"]["reason"] == "exception"
    assert "no space for checkpoint" in status["exit"]["message"]
    assert status["steps"] == {"train": 4}


def test_a_job_is_stopped_between_two_rounds(sonde: Sonde) -> None:
    script = """
import numpy, xgboost
data = xgboost.DMatrix(numpy.random.rand(400, 4), label=numpy.arange(400) % 2)
xgboost.train({"nthread": 1}, data, 1_000_000)
"""
    launcher = sonde.start("run", "--quiet", "--name", "job", PYTHON, "-c", script)
    assert eventually(lambda: sonde.runs() and sonde.status()["steps"].get("train", 0) > 5)
    assert sonde.run("stop", "job").returncode == 0
    assert eventually(lambda: launcher.poll() is not None)
    assert sonde.status()["state"] == "stopped"
    assert sonde.status()["exit"]["reason"] == "stopped"
