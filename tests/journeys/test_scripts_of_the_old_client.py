"""Scripts written for the old client run unmodified, and their trials open."""

import math
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from smdebug import modes
from smdebug.analysis.utils import no_refresh
from smdebug.core.access_layer import checked_out_dir
from smdebug.core.tensor import StepState
from smdebug.exceptions import (
    InvalidWorker,
    NoMoreData,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.profiler.analysis.notebook_utils.heatmap import Heatmap
from smdebug.profiler.analysis.notebook_utils.metrics_histogram import MetricsHistogram
from smdebug.profiler.analysis.notebook_utils.step_histogram import StepHistogram
from smdebug.profiler.analysis.notebook_utils.step_timeline_chart import StepTimelineChart
from smdebug.profiler.analysis.notebook_utils.timeline_charts import TimelineCharts
from smdebug.profiler.analysis.notebook_utils.training_job import TrainingJob
from smdebug.profiler.analysis.utils.merge_timelines import MergedTimeline, MergeUnit
from smdebug.profiler.analysis.utils.pandas_data_analysis import (
    PandasFrameAnalysis,
    Resource,
    StatsBy,
)
from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame
from smdebug.profiler.analysis.utils.pytorch_dataloader_analysis import PT_dataloader_analysis
from smdebug.profiler.utils import TimeUnits
from smdebug.rules import Rule, invoke_rule
from smdebug.trials import Trial, create_trial
from tests.journeys.sonde_cli import PYTHON, Sonde, plain_environment

pytestmark = pytest.mark.timeout(600)
ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "compat" / "sonde-smdebug" / "src"
SCRIPT = ROOT / "tests" / "journeys" / "training" / "hook_of_old_client.py"


@pytest.fixture(scope="module", params=["plain", "under sonde run"])
def trial(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trial]:
    """A finished training, recorded by the hook on its own and in a job of the launcher."""
    sonde = Sonde(tmp_path_factory.mktemp("old client"))
    (sonde.folder / "sonde.toml").write_text("[report]\nat_end = false\n[rules]\nlive = false\n")
    out_dir = sonde.folder / "tensors"
    command = [PYTHON, str(SCRIPT), str(out_dir)]
    environment = {**plain_environment(), "PYTHONPATH": str(PACKAGE)}
    if request.param == "plain":
        done = subprocess.run(
            command, cwd=sonde.folder, env=environment, capture_output=True, check=False
        )
    else:
        done = sonde.run("run", "--quiet", "--", *command, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    yield create_trial(str(out_dir))
    sonde.close()


def test_trial_has_the_steps_and_modes_of_the_hook(trial: Trial) -> None:
    assert trial.loaded_all_steps
    assert trial.steps() == [0, 2, 3, 5, 7]
    assert trial.steps(modes.TRAIN) == [0, 2, 4]
    assert trial.steps(modes.EVAL) == [0, 1]
    assert trial.steps(modes.PREDICT) == []
    assert trial.modes() == [modes.TRAIN, modes.EVAL]
    assert trial.workers() == ["worker_0"]
    assert trial.mode_modestep(5) == (modes.TRAIN, 4)
    assert trial.mode_modestep(1) == (None, None)
    assert trial.global_step(modes.EVAL, 1) == 7
    assert trial.last_complete_step == 7


def test_tensors_have_the_names_of_the_hook(trial: Trial) -> None:
    weights = ["Net_fc1.weight", "Net_fc2.weight"]
    assert trial.tensor_names(collection="weights") == weights
    assert trial.tensor_names(regex=["^fc", "^relu"]) == ["relu_output_0"]
    assert trial.tensor_names(mode=modes.EVAL) == [
        *("CrossEntropyLoss_output_0", "Net_fc1.weight", "Net_fc2.weight", "batch"),
        *("relu_output_0", "scalar/accuracy"),
    ]
    assert trial.tensor_names(step=7) == ["scalar/accuracy"]
    assert len(trial.tensor_names(collection="gradients")) == 4
    assert not trial.has_tensor("fc1_output_0")
    with pytest.raises(TensorUnavailable):
        trial.tensor("fc1_output_0")
    with pytest.raises(ValueError, match="not both"):
        trial.tensor_names(regex="a", collection="b")


def test_values_are_read_by_step_and_mode(trial: Trial) -> None:
    loss = trial.tensor("CrossEntropyLoss_output_0")
    assert loss.steps() == [0, 2, 3, 5]
    assert list(loss.values(modes.TRAIN)) == [0, 2, 4]
    assert 0.3 < loss.value(0) < 1.5
    assert loss.value(5) == loss.value(4, mode=modes.TRAIN)
    assert loss.prev_steps(4, 2) == [2, 3]
    assert loss.workers(0) == ["worker_0"]
    assert trial.tensor("batch").value(3).shape == (3, 4), "bfloat16, in two collections"
    assert trial.tensor("scalar/accuracy").value(7) == 0.5
    weight = trial.tensor("Net_fc1.weight")
    assert weight.shape(0) == (6, 4)
    assert not np.array_equal(weight.value(0), weight.value(2))


def test_missing_values_are_explained(trial: Trial) -> None:
    loss = trial.tensor("CrossEntropyLoss_output_0")
    for step in (1, 100):
        with pytest.raises(StepUnavailable):
            loss.value(step)
    with pytest.raises(TensorUnavailableForStep):
        loss.value(7)
    with pytest.raises(InvalidWorker):
        loss.value(0, worker="worker_7")
    with pytest.raises(StepUnavailable):
        trial.wait_for_steps([0, 1])
    with pytest.raises(NoMoreData):
        trial.wait_for_steps([8])
    assert trial.has_passed_step(2) == StepState.AVAILABLE
    assert trial.has_passed_step(4) == StepState.UNAVAILABLE


def test_reductions_replace_values_if_the_collection_says_so(trial: Trial) -> None:
    gradient = trial.tensor("gradient/Net_fc2.bias")
    assert gradient.steps() == [0, 2, 5]
    with pytest.raises(TensorUnavailableForStep, match="only reductions are"):
        gradient.value(0)
    reductions = gradient.reduction_values(0)
    assert set(reductions) == {("mean", False), ("prod", False), ("l2", False)}
    assert gradient.reduction_value(0, "mean") == reductions["mean", False]
    weight = trial.tensor("Net_fc1.weight")
    value = weight.value(0)
    assert math.isclose(weight.reduction_value(0, "l2"), np.linalg.norm(value), rel_tol=1e-6)
    assert math.isclose(weight.reduction_value(0, "max", abs=True), abs(value).max())
    assert weight.reduction_values(0) == {}


def test_a_range_of_steps_restricts_a_trial(trial: Trial) -> None:
    part = create_trial(trial.path, range_steps=(2, 5))
    assert part.steps() == [2, 3]
    assert part.tensor("CrossEntropyLoss_output_0").steps() == [2, 3]


class AllSteps(Rule):
    def __init__(self, base_trial: Trial) -> None:
        super().__init__(base_trial)
        self.steps: list[int] = []

    def invoke_at_step(self, step: int) -> bool:
        self.steps.append(step)
        return step == 5


def test_rule_runs_at_every_step_until_the_data_ends(trial: Trial) -> None:
    rule = AllSteps(trial)
    with pytest.raises(NoMoreData):
        invoke_rule(rule)
    assert rule.steps == trial.steps()
    with pytest.raises(Exception, match="AllSteps is met at step 5"):
        invoke_rule(AllSteps(trial), raise_eval_cond=True)
    with no_refresh([trial]):
        assert not trial.dynamic_refresh
    assert trial.dynamic_refresh


def test_hook_refuses_the_folder_of_a_finished_training(trial: Trial) -> None:
    with pytest.raises(RuntimeError, match="Choose another out_dir"):
        checked_out_dir(trial.path)


def test_profiler_classes_read_the_same_job(trial: Trial, tmp_path: Path) -> None:
    job = TrainingJob(trial.path)
    system, framework = job.get_systems_metrics_reader(), job.get_framework_metrics_reader()
    first = system.get_timestamp_of_first_available_file()
    last = framework.get_timestamp_of_latest_available_file()
    assert {each.type for each in system.get_events(first, last + 10**7)} >= {"cpu", "memory"}
    steps = framework.get_events(
        first / 1e6, last / 1e6, unit=TimeUnits.SECONDS, event_type="Step:ModeKeys"
    )
    assert [each.event_name for each in steps].count("Step:ModeKeys.TRAIN") == 6
    assert {each.event_name for each in framework.get_events_by_step(2, 3)} >= {
        *("Forward-node_0", "Backward(post-forward)-node_0", "Step:ModeKeys.TRAIN"),
    }
    assert len(StepHistogram(framework).plot().save(str(tmp_path))) == 3
    assert StepTimelineChart(framework).plots
    assert TimelineCharts(system, framework, select_dimensions=["CPU"]).plots
    assert Heatmap(system, framework, select_dimensions=["CPU"]).plots
    assert MetricsHistogram(system).plot(select_dimensions=["CPU"], select_events=["cpu"]).plots
    merged = MergedTimeline(trial.path, output_directory=str(tmp_path))
    assert Path(merged.merge_timeline(0, 3, unit=MergeUnit.STEP)).is_file()


def test_data_frames_have_the_columns_of_the_old_client(trial: Trial) -> None:
    frame = PandasFrame(trial.path)
    system, framework = frame.get_all_system_metrics(), frame.get_all_framework_metrics()
    assert list(system.columns) == [
        *("timestamp", "timestamp_us", "value", "system_metric", "dimension", "nodeID", "type"),
    ]
    assert system.timestamp_us.min() >= 0
    steps = frame.get_all_framework_metrics(["^Step:ModeKeys.TRAIN"])
    assert steps.step.tolist() == list(range(6))
    assert len(frame.get_profiler_data_by_step(1, 2)[1].step.unique()) == 2
    analysis = PandasFrameAnalysis(system, framework)
    phases = analysis.get_job_statistics()["training_phase"]
    assert phases["Step:ModeKeys.TRAIN"] > 0
    table = analysis.get_step_statistics(by=StatsBy.TRAINING_PHASE).set_index("training_phase")
    assert (
        table.loc["Step:ModeKeys.TRAIN", "max"] == (steps.end_time_us - steps.start_time_us).max()
    )
    usage = analysis.get_device_usage_stats(Resource.CPU)
    assert abs(usage[["90-100", "10-90", "0-10"]].sum(axis=1) - 100.0).max() < 1e-6
    assert set(analysis.get_utilization_stats(Resource.CPU).Resource) == {"cpu"}
    assert len(PT_dataloader_analysis(frame).analyze_batchtime()) < 6


def test_without_the_package_the_error_says_what_to_install(sonde: Sonde) -> None:
    script = (
        "import sys; sys.modules['smdebug'] = None\n"
        "try: import smdebug\nexcept ImportError as error: print(error.name)\n"
        "import smdebug"
    )
    done = sonde.run("run", "--quiet", PYTHON, "-c", script)
    assert done.returncode == 1
    assert done.stdout == b"smdebug\n"
    last = done.stderr.decode().splitlines()[-1]
    assert last == "sonde: to run scripts written for smdebug: pip install sonde-smdebug"


def test_hooks_of_xgboost_and_keras_save_rounds_and_batches(tmp_path: Path) -> None:
    (tmp_path / "sonde.toml").write_text("[report]\nat_end = false\n[rules]\nlive = false\n")
    script = ROOT / "tests" / "journeys" / "boosting" / "hooks_of_old_client.py"
    environment = {**plain_environment(), "PYTHONPATH": str(PACKAGE)}
    command = [PYTHON, str(script), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    boosted = create_trial(str(tmp_path / "xgboost"))
    assert boosted.loaded_all_steps
    assert boosted.steps() == [0, 2]
    losses = boosted.tensor("train-logloss").values()
    assert losses[0] > losses[2]
    assert boosted.tensor("predictions").value(2).shape == (60,)
    assert boosted.tensor("hyperparameters/eta").value(0) == 0.3
    assert "average_shap/f0" in boosted.tensor_names(collection="average_shap")
    assert "feature_importance/gain/f0" in boosted.tensor_names(collection="feature_importance")
    keras = create_trial(str(tmp_path / "keras"))
    assert keras.steps(modes.TRAIN) == [0, 1]
    assert keras.tensor("loss").values(modes.EVAL) == {0: 0.25}
    assert keras.tensor_names(collection="weights") == ["sequential/dense/kernel"]
    assert keras.tensor("sequential/dense/kernel").value(0).tolist() == [[1.0, 2.0]]
    assert keras.tensor_names(collection="metrics") == ["accuracy"]
