"""Comparison of runs: settings, speed with noise, and the first divergence."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sonde.cli._main import run_command_line
from sonde.errors import UsageError
from sonde.records.chart import LineChart
from sonde.records.job import Attempt, Launcher, Surroundings
from sonde.results.aligned_losses import aligned_losses, smoothed
from sonde.results.comparison import JobComparison
from sonde.results.divergence import Divergence, Equality
from sonde.store.facts import encode_facts
from sonde.store.layout import attempt_key
from tests.fakes.job import FakeJob
from tests.web.api_client import ApiClient

STEPS = 120


def recorded(
    uri: str = "",
    *,
    forward: float = 0.05,
    diverges_at: int | None = None,
    nan_at: int | None = None,
    packages: tuple[str, str] = ("torch", "2.13.0"),
    command: tuple[str, ...] = ("python", "train.py", "--lr", "0.1"),
) -> FakeJob:
    """A job whose losses, weights and gradients depend on nothing but these options."""
    job = FakeJob(uri)
    start = Attempt("node-a", 1, job.clock.now_ns(), command, "/", 1, Launcher(1, "", ""), 0.5)
    machine = {"host": "node-a"}
    variables = {"SHLVL": str(forward), "SEED": "1"}
    surroundings = Surroundings({}, machine, dict([packages]), variables, {"commit": "abc"})
    for what, record in (("start", start), ("surroundings", surroundings)):
        job.backend.write(attempt_key("node-a", 1, what), encode_facts(record))
    worker = job.worker(device="cpu")
    worker.add_tensor("weight/a", "weights").add_tensor("gradient/a", "gradients")
    random = np.random.default_rng(1)
    noise = np.random.default_rng(round(1e6 * forward))
    for step in range(STEPS):
        factor = 1.0 if diverges_at is None or step < diverges_at else 1.01
        values = random.standard_normal(6)
        worker.scalar("learning_rate/0", step, 0.1)
        is_nan = nan_at is not None and step >= nan_at
        worker.scalar("loss", step, math.nan if is_nan else float(values.std()) * factor)
        if step % 5 == 0:
            worker.statistics("weight/a", step, values)
            worker.statistics("gradient/a", step, values * factor)
        wait = 0.01 + 0.001 * noise.random()
        worker.step(step, {"data_wait": wait, "forward": forward + 0.004 * noise.random()})
    worker.flush()
    return job.end()


def compared(*jobs: FakeJob) -> JobComparison:
    return JobComparison(tuple(job.job() for job in jobs))


def test_a_slower_run_names_the_phase_and_the_noise() -> None:
    comparison = compared(recorded(), recorded(forward=0.09))
    step, *phases = comparison.step_time()
    assert step.seconds.is_significant
    assert step.seconds.percent == pytest.approx(65, abs=2)
    changes = {row.phase: row.seconds for row in phases}
    assert changes["forward"].change == pytest.approx(0.04, abs=0.001)
    assert changes["forward"].bound < 0.001
    assert not changes["data_wait"].is_significant
    [speed, _] = comparison.sentences
    assert "is 65% slower than" in speed
    assert "; forward +40" in speed
    assert "data wait" not in speed


def test_equal_speed_is_called_noise() -> None:
    comparison = compared(recorded(), recorded(forward=0.0500001))
    assert "is as fast as" in comparison.sentences[0]
    assert "within noise" in comparison.sentences[0]


def test_the_first_divergence_names_its_step_and_value() -> None:
    divergence = compared(recorded(), recorded(diverges_at=63)).divergence()
    assert isinstance(divergence, Divergence)
    assert (divergence.step, divergence.name, divergence.last_equal_step) == (63, "loss", 62)
    assert divergence.second == pytest.approx(1.01 * divergence.first)


def test_a_tensor_is_named_if_it_diverges_with_the_loss_and_comes_first() -> None:
    first, second = recorded(), recorded(diverges_at=60)
    divergence = compared(first, second).divergence()
    assert isinstance(divergence, Divergence)
    assert (divergence.step, divergence.name, divergence.others) == (60, "loss", 1)
    assert "diverge at step 60" in divergence.sentence("a", "b")
    assert "(and 1 other value differs)" in divergence.sentence("a", "b")


def test_a_loss_that_becomes_nan_in_one_run_is_a_divergence() -> None:
    divergence = compared(recorded(), recorded(nan_at=30)).divergence()
    assert isinstance(divergence, Divergence)
    assert (divergence.step, divergence.name) == (30, "loss")
    both = compared(recorded(nan_at=30), recorded(nan_at=30)).divergence()
    assert isinstance(both, Equality)


def test_equal_runs_have_no_divergence() -> None:
    equality = compared(recorded(), recorded(forward=0.09)).divergence()
    assert equality == Equality(compared=6, last_step=STEPS - 1)


def test_runs_without_common_values_say_so() -> None:
    comparison = compared(recorded(), FakeJob().end())
    assert comparison.divergence() == Equality(0, None)
    speed, divergence = comparison.sentences
    assert "too few training steps" in speed
    assert "no values recorded at the same steps" in divergence


def test_settings_that_differ_are_listed_by_section() -> None:
    second = recorded(
        packages=("torch", "2.12.0"), command=("python", "train.py", "--lr=0.2", "--amp")
    )
    comparison = compared(recorded(), second, recorded(forward=0.051))
    settings = {(row.section, row.name): row.values for row in comparison.differences}
    assert settings == {
        ("command", "--lr"): ("0.1", "0.2", "0.1"),
        ("command", "--amp"): (None, "yes", None),
        ("packages", "torch"): ("2.13.0", "2.12.0", "2.13.0"),
    }


def test_losses_are_aligned_by_step_time_or_samples() -> None:
    fast, slow = recorded(), recorded(forward=0.12)
    comparison = compared(fast, slow)
    by_step, by_time = (comparison.losses(by).spec for by in ("step", "time"))
    assert isinstance(by_step, LineChart)
    assert isinstance(by_time, LineChart)
    assert list(by_step.x) == list(range(STEPS))
    assert by_step.curves[0].values == by_step.curves[1].values
    x = np.array(by_time.x, dtype=np.float64)
    values = [np.array(curve.values, dtype=np.float64) for curve in by_time.curves]
    ends = [x[np.isfinite(row)].max() for row in values]
    assert ends[1] == pytest.approx((STEPS - 1) * 0.1325, rel=0.02)
    assert ends[0] == pytest.approx((STEPS - 1) * 0.0625, rel=0.02)
    by_samples = comparison.losses("samples").spec
    assert isinstance(by_samples, LineChart)
    assert "samples are unknown" in by_samples.coarsened
    with pytest.raises(UsageError, match="Unknown axis"):
        comparison.losses("epoch")


def test_samples_are_counted_with_the_batch_size() -> None:
    runs = compared(recorded(), recorded(forward=0.09)).runs
    sized = [replace(run, samples_per_step=size) for run, size in zip(runs, (8, 32), strict=True)]
    chart = aligned_losses(sized, "samples")
    assert chart is not None
    assert chart.x[-1] == 32 * STEPS
    assert np.isfinite(chart.curves[1].values[-1] or np.nan)
    assert np.isnan(chart.curves[0].values[-1] or np.nan)


def test_smoothing_keeps_the_level_and_skips_undefined_values() -> None:
    values = np.array([2.0, np.nan, 2.0, 4.0])
    assert smoothed(values, 0.0) is values
    result = smoothed(values, 0.5)
    assert result[0] == pytest.approx(2.0)
    assert np.isnan(result[1])
    assert result[2] == pytest.approx(2.0)
    assert 2.0 < result[3] < 4.0
    assert smoothed(np.full(50, 3.0), 0.97) == pytest.approx(3.0)


def test_compare_prints_sentences_figures_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [recorded(), recorded(forward=0.09, command=("python", "other.py"))]
    uris = [job.backend.uri for job in jobs]
    assert run_command_line(["compare", *uris]) == 0
    printed = capsys.readouterr().out
    assert "slower than" in printed
    assert "step_p50_seconds" in printed
    assert "other.py" in printed
    assert run_command_line(["compare", *uris, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["step_time"][0]["is_significant"]
    assert document["divergences"][0]["is_equal"]
    assert document["differences"][0]["name"] == "program"
    assert run_command_line(["compare", uris[0]]) == 2
    assert "at least two jobs" in capsys.readouterr().err


def test_the_dashboard_shows_the_comparison_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = [recorded(str(tmp_path / "a")), recorded(str(tmp_path / "b"), diverges_at=40)]
    document = ApiClient(jobs[0]).document("compare", others="b")
    assert run_command_line(["compare", *(job.backend.uri for job in jobs), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {name: printed[name] for name in document} == document
    assert document["divergences"][0]["step"] == 40
    spec = ApiClient(jobs[0]).document("compare/losses", others="b", by="time", smoothing=60)[
        "spec"
    ]
    assert [curve["label"] for curve in spec["curves"]] == ["a", "b"]
    assert spec["x_unit"] == "seconds"
