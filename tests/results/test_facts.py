"""Results of plain values are printed readably: status, lives, windows, phases, calls."""

import numpy as np
import pytest

from sonde.errors import UsageError
from sonde.records.chart import Bars
from sonde.records.python_profile import PythonProfiler
from tests.fakes.job import FakeJob
from tests.fakes.python_profile import FakeProfile
from tests.fakes.training import with_losses, with_observations, with_tensors
from tests.results import test_loading as loading
from tests.results.test_python_profile import HELPER, MAIN, MODEL, profiled


def test_summary_is_a_dictionary_that_prints_like_the_status() -> None:
    summary = with_losses([0.5, 0.25]).job().summary
    assert summary["state"] == "completed"
    assert summary == dict(summary)
    assert "last loss      0.25 (train, step 1)" in repr(summary)


def test_lives_have_a_row_per_worker_start_with_its_failure() -> None:
    fake = FakeJob()
    worker = fake.worker(rank=3, device="cuda:1")
    worker.step(0, {"forward": 0.1}).flush()
    lives = fake.end().job().lives
    [row] = lives.to_pandas().to_dict("records")
    assert (row["rank"], row["node"], row["device"]) == (3, "node-a", "cuda:1")
    assert lives[0].info.rank == 3
    assert "cuda:1" in repr(lives)
    assert repr(FakeJob().end().job().lives) == "No worker has started"


def test_python_windows_list_their_steps() -> None:
    windows = profiled().job().python().windows
    assert windows.to_pandas()["steps"].tolist() == ["train 0–2"]
    assert "train 0–2" in repr(windows)


def test_call_tree_lists_children_below_their_parents() -> None:
    calls = profiled().job().python().flame()
    rows = calls.to_pandas()
    assert rows["function"].tolist() == [MAIN[0], HELPER[0], MODEL[0]]
    assert rows["parent"].tolist() == [-1, 0, 0]
    assert rows["depth"].tolist() == [0, 1, 1]
    assert rows["total_seconds"].tolist() == pytest.approx([0.036, 0.024, 0.012])
    assert "  augment (user/helper.py:1)" in repr(calls)
    top, below = calls.plot().document()["lanes"]
    assert [span["label"] for span in below["spans"]] == [HELPER[0], MODEL[0]]
    assert top["spans"][0]["end"] == pytest.approx(0.036)
    assert below["spans"][1]["start"] == pytest.approx(below["spans"][0]["end"])


def test_functions_can_be_sorted_by_number_of_calls() -> None:
    fake = FakeJob()
    worker = fake.worker()
    profile = FakeProfile(worker).add_calls((MAIN,), 0.001, 9_000_000, calls=1)
    profile.add_calls((MAIN, HELPER), 0.002, 1_000_000, calls=500)
    worker.step(0, {"forward": 0.010})
    profile.write(PythonProfiler.CPROFILE)
    worker.flush()
    python = fake.end().job().python()
    assert python.top(1, by="calls").rows[0].name == HELPER[0]
    with pytest.raises(UsageError, match="Available: self, total, calls"):
        python.top(by="looks")


def test_comparison_without_data_explains_why() -> None:
    python = profiled().job().python()
    assert "all profiled steps are train steps" in repr(python.modes())
    assert "took longer than 50× the median" in repr(python.outliers(factor=50))


def test_error_for_a_rule_that_was_not_run_lists_the_others() -> None:
    judgement = with_losses([1.0]).job().check("LossSpike")
    assert judgement["loss_spike"].rule == "LossSpike"
    with pytest.raises(UsageError, match="Rules that were run: LossSpike"):
        judgement["VanishingGradient"]


def test_tensor_converts_to_a_table_of_common_reductions() -> None:
    fake = with_tensors({"layer.weight": ("weights", lambda _: [3.0, -4.0])}, 3, at=[0, 2])
    tensor = fake.job().tensor("layer.weight")
    rows = tensor.to_pandas()
    assert rows["step"].tolist() == [0, 2]
    assert rows["l2_norm"].tolist() == [5, 5]
    assert rows["min"].tolist() == [-4, -4]
    assert tensor.plot().document()["title"] == "l2_norm of layer.weight"


def test_tensor_histograms_count_every_value() -> None:
    values = np.array([0.0, 0.0, 1.0, 1.1, -8.0])
    fake = with_tensors({"layer.weight": ("weights", lambda _: values)}, 1, at=[0])
    tensor = fake.job().tensor("layer.weight")
    for rows in (tensor.histogram(0).to_pandas(), tensor.histograms().to_pandas()):
        assert rows["count"].sum() == len(values)
        assert rows["from"].is_monotonic_increasing
    zeros = tensor.histograms().to_pandas().query("`from` == 0 and to == 0")
    assert zeros["count"].tolist() == [2]


def test_quantiles_are_printed_for_steps_with_a_histogram() -> None:
    fake = with_tensors({"layer.weight": ("weights", lambda _: [1.0, 2.0, 3.0])}, 2, at=[0, 1])
    text = repr(fake.job().tensor("layer.weight").quantiles())
    assert text.startswith("Quantiles of layer.weight at 2 of 2 steps")
    assert "nan" not in text


def test_events_have_a_histogram_by_name() -> None:
    result = with_losses([1.0] * 4).job().events("forward").histogram((0, 0.05, 0.2))
    assert result.to_pandas()["count"].tolist() == [0, 4]
    assert with_losses([1.0]).job().events("nothing").histogram().to_pandas().empty


def test_durations_have_units_in_text_and_notebooks() -> None:
    statistics = with_losses([1.0] * 4).job().steps().statistics()
    assert "100 ms" in repr(statistics)
    page = statistics._repr_html_()
    assert "100 ms" in page
    assert "checkpoint" not in page  # it took no time
    assert "checkpoint" in statistics.to_pandas()["phase"].tolist()


def test_bars_are_labeled_by_columns_that_differ() -> None:
    spec = loading.slow_job().job().dataloader().plot().spec
    assert isinstance(spec, Bars)
    assert spec.labels[0] == "batch"  # one worker, one loader
    assert {group.tone for group in spec.parts} == {""}


def test_notebook_shows_data_loading_advice() -> None:
    loaders = loading.slow_job().job().dataloader()
    assert loaders.advice
    assert loaders._repr_html_().count("<li>") == len(loaders.advice)


def test_notebook_lists_rules_with_findings_first() -> None:
    judgement = with_losses([1.0, float("nan"), float("nan")]).job().check()
    shown = judgement._shown()["status"].to_pylist()
    assert shown[0] == "IssuesFound"
    assert shown == sorted(shown, key=shown.index)  # rules with the same status are adjacent
    fake = with_observations("unowned-parameter", {"weight": lambda _: (1.0, "")}, 4, at=[0, 3])
    observations = fake.job().observations()
    assert observations._shown().to_pylist() == [
        {"kind": "unowned-parameter", "subject": "weight", "observations": 2, "steps": "0–3"}
    ]
    assert len(observations.to_pandas()) == 2


def test_timeline_steps_are_numbered() -> None:
    lanes = with_losses([1.0] * 3).job().timeline().plot().document()["lanes"]
    [steps] = [lane["spans"] for lane in lanes if lane["label"] == "steps"]
    assert [step["label"] for step in steps] == ["step 0", "step 1", "step 2"]
    assert len({step["tone"] for step in steps}) == 2
