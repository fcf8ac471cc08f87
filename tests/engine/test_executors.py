"""Executors: one process, several or Ray return the same evaluations."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sonde.engine import executors
from sonde.engine.executors import (
    ExecutorKind,
    Local,
    Ray,
    RuleSelection,
    executor_for,
    run_selection,
)
from sonde.engine.runner import Runner
from sonde.errors import MissingExtraError
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.records.finding import Evaluation
from sonde.rules._selection import select_rules
from sonde.settings import RulesSettings
from sonde.settings.rules import read_rules
from tests.fakes.job import FakeJob

NAMES = ("LossNotDecreasing", "StepOutlier", "VanishingGradient", "WeightUpdateRatio", "Overfit")
QUESTION = RuleSelection(NAMES, RulesSettings(), {"step_outlier": {"n_outliers": 2}})


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> FakeJob:
    job = FakeJob(str(tmp_path_factory.mktemp("store") / "job"))
    worker = job.worker().add_tensor("gradient/first", "gradients")
    for step in range(200):
        worker.scalar("loss", step, 2.3).statistics("gradient/first", step, [1e-10, -1e-10])
        worker.step(step, {"forward": 0.1 if step % 40 else 9.0})
    worker.flush()
    return job.end()


def summaries(evaluations: tuple[Evaluation, ...]) -> list[tuple[object, ...]]:
    return [
        (
            evaluation.rule,
            evaluation.status,
            evaluation.triggered,
            evaluation.reason,
            evaluation.episodes,
        )
        for evaluation in evaluations
    ]


def alone(job: FakeJob) -> tuple[Evaluation, ...]:
    rules = select_rules(QUESTION.names, QUESTION.settings, QUESTION.parameters)
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), rules)
    runner.advance()
    return runner.evaluations


def test_two_processes_return_the_same_evaluations_as_one(job: FakeJob) -> None:
    evaluations = run_selection(Local(2), job.backend.uri, QUESTION, len(NAMES))
    assert summaries(evaluations) == summaries(alone(job))
    assert any(evaluation.episodes for evaluation in evaluations)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 50])
def test_evaluations_do_not_depend_on_the_number_of_processes(
    job: FakeJob, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Local(size)
    monkeypatch.setattr(engine, "map", lambda function, shares: list(map(function, shares)))
    assert summaries(run_selection(engine, job.backend.uri, QUESTION, len(NAMES))) == summaries(
        alone(job)
    )


def test_a_small_job_uses_one_process(job: FakeJob) -> None:
    assert executor_for(ExecutorKind.LOCAL, job.backend).size == 1


def test_a_large_job_uses_all_available_cores(
    job: FakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "_BYTES_PER_PROCESS", 10)
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(6)))
    assert executor_for(ExecutorKind.LOCAL, job.backend).size == 6


def test_missing_ray_is_a_one_line_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sonde\[ray\]'"):
        Ray()


def test_ray_returns_the_same_evaluations_as_one_process(
    job: FakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[dict[str, Any]] = []
    monkeypatch.setitem(
        sys.modules,
        "ray",
        SimpleNamespace(
            is_initialized=lambda: False,
            init=lambda **options: started.append(options),
            cluster_resources=lambda: {"CPU": 3.0},
            remote=lambda function: SimpleNamespace(remote=function),
            get=lambda results: results,
        ),
    )
    engine = executor_for(ExecutorKind.RAY, job.backend)
    assert started
    assert engine.size == 3
    assert summaries(run_selection(engine, job.backend.uri, QUESTION, len(NAMES))) == summaries(
        alone(job)
    )


def test_a_rule_from_a_file_is_run(job: FakeJob, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import sonde\n"
        "class Mine(sonde.Rule):\n"
        '    """Mine."""\n'
        "    needs = (sonde.Losses(),)\n"
        "    def check(self, window, state):\n"
        "        for loss in window.losses():\n"
        "            yield self.finding('found')\n"
    )
    table = {"Mine": {"source": "mine.py"}}
    settings = read_rules(table, tmp_path / "sonde.toml")
    selection = RuleSelection(("Mine", "Overfit"), settings, {})
    mine, _ = run_selection(Local(1), job.backend.uri, selection, 2)
    assert mine.episodes
