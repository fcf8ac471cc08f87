"""Every number of the charts equals what NumPy computes from the data of the job."""

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sonde.charts import CHARTS
from sonde.records.chart import (
    BoxPlot,
    Facts,
    Group,
    Heatmap,
    Histogram,
    Lanes,
    LineChart,
    Spec,
    StackedBars,
    Table,
)
from sonde.rules import load_rule
from tests.fakes.job import FakeJob
from tests.fakes.reported import GPUS, LEAD_SECONDS, PHASES, STEPS, Reported, reported_job

if TYPE_CHECKING:
    from sonde.results.job import JobResults


@pytest.fixture(scope="module")
def made() -> Reported:
    return reported_job()


def chart(made: Reported, name: str, kind: type[Spec]) -> Any:
    spec = CHARTS.load(name)().build(made.job)
    assert isinstance(spec, kind)
    json.dumps(spec.document(), allow_nan=False)
    return spec


def test_stage_durations_add_up_to_the_job_duration(made: Reported) -> None:
    spec = chart(made, "job_details", Facts)
    facts = {fact.name: fact.value for fact in spec.facts}
    assert len(facts) == 11
    groups = [
        facts[f"{stage}_duration"] for stage in ("initialization", "training_loop", "finalization")
    ]
    assert sum(groups) == pytest.approx(facts["job_duration"])
    assert facts["initialization_duration"] == pytest.approx(LEAD_SECONDS)
    loop = max(made.durations(worker).sum() + 4 * 0.25 for worker in (0, 1))
    assert facts["training_loop_duration"] == pytest.approx(loop - 0.25, abs=1e-3)
    shares = [
        facts[f"{stage}_percent"] for stage in ("initialization", "training_loop", "finalization")
    ]
    assert sum(shares) == pytest.approx(100)


def test_stages_follow_each_other_without_gaps(made: Reported) -> None:
    [lane] = chart(made, "progress", Lanes).lanes
    assert [span.label for span in lane.spans][:2] == ["initialization", "training loop"]
    for each, second in pairwise(lane.spans):
        assert each.end == pytest.approx(second.start)
    stages = chart(made, "stages", StackedBars)
    assert stages.parts[0].values[0] == pytest.approx(LEAD_SECONDS)


def test_step_statistics_match_numpy(made: Reported) -> None:
    rows = chart(made, "step_statistics", Table).records()
    for worker in (0, 1):
        [row] = [row for row in rows if row["worker"] == worker and row["mode"] == "train"]
        seconds = made.durations(worker)
        assert row["steps"] == STEPS
        numbers = [row[name] for name in ("mean", "maximum", "p99", "p95", "p50", "minimum")]
        expected = [seconds.mean(), *np.percentile(seconds, (100, 99, 95, 50, 0))]
        assert numbers == pytest.approx(expected)
        assert row["outliers"] == (8 if worker else 0)


def test_note_counts_steps_above_the_outlier_limit(made: Reported) -> None:
    seconds = made.durations(1)
    median = np.median(seconds)
    limit = max(median + 3 * 1.4826 * np.median(np.abs(seconds - median)), 1.5 * median)
    note = chart(made, "step_statistics", Table).note
    long = f"8 of {STEPS} steps took longer than {1e3 * limit:.3g} ms"
    assert f", median {1e3 * median:.3g} ms. {long}." in note
    quick = CHARTS.load("step_statistics")(worker=0).build(made.job)
    assert isinstance(quick, Table)
    assert f"None of {STEPS} steps took longer than" in quick.note


def test_histogram_contains_every_step(made: Reported) -> None:
    spec = chart(made, "step_histogram", Histogram)
    assert [sum(group.values) for group in spec.parts] == [STEPS, STEPS]
    assert "includes 8 steps longer than" in spec.note


def test_outliers_are_listed_with_their_slowest_phase(made: Reported) -> None:
    rows = chart(made, "step_outliers", Table).records()
    assert {row["step"] for row in rows} == set(range(0, STEPS, 25))
    assert {row["phase"] for row in rows} == {"data wait"}
    for row in rows:
        assert row["seconds"] == pytest.approx(made.durations(1)[row["step"]])


def test_normal_steps_and_outliers_are_split_by_phase(made: Reported) -> None:
    spec = chart(made, "outlier_phases", StackedBars)
    is_outlier = np.zeros(STEPS, dtype=np.bool_)
    is_outlier[::25] = True
    normal = np.concatenate([made.phases[0], made.phases[1][~is_outlier]])
    for group, index in zip(spec.parts, range(len(PHASES)), strict=False):
        expected = (normal[:, index].mean(), made.phases[1][is_outlier][:, index].mean())
        assert group.values == pytest.approx(expected)


def test_phase_shares_match_numpy(made: Reported) -> None:
    rows = {row["phase"]: row for row in chart(made, "phase_time", Table).records()}
    spent = np.concatenate([made.phases[0], made.phases[1]])
    for index, phase in enumerate(PHASES):
        row = rows[phase.replace("_", " ")]
        assert row["total"] == pytest.approx(spent[:, index].sum())
        assert row["percent"] == pytest.approx(100 * spent[:, index].sum() / spent.sum())
        assert row["p95"] == pytest.approx(np.percentile(spent[:, index], 95))


def test_mode_times_are_means_of_the_workers(made: Reported) -> None:
    groups = {group.label: group.values[0] for group in chart(made, "mode_time", StackedBars).parts}
    assert groups["train"] == pytest.approx(
        np.mean([made.durations(each).sum() for each in (0, 1)])
    )
    assert groups["eval"] == pytest.approx(4 * 0.25)


def test_boxes_are_percentiles_of_each_gpu(made: Reported) -> None:
    boxes = {box.label: box for box in chart(made, "gpu_usage", BoxPlot).boxes}
    assert len(boxes) == 4
    for node, samples in made.samples.items():
        box = boxes[f"{node} gpu0"]
        values = samples["gpu.utilization_percent/gpu0"]
        numbers = (box.p5, box.p25, box.p50, box.p75, box.p95)
        assert numbers == pytest.approx(np.percentile(values, (5, 25, 50, 75, 95)), rel=1e-6)


def test_different_gpus_have_a_large_distance(made: Reported) -> None:
    spec = chart(made, "gpu_balance", Group)
    histogram, heat = spec.parts
    assert all(sum(group.values) == pytest.approx(100) for group in histogram.parts)
    rows = {
        name: dict(zip(heat.columns, row, strict=True))
        for name, row in zip(heat.rows, heat.values, strict=True)
    }
    assert rows["node-a gpu0"]["node-a gpu1"] > 0.5
    assert rows["node-a gpu1"]["node-b gpu1"] == pytest.approx(0)


def test_bottlenecks_are_counted_sample_by_sample(made: Reported) -> None:
    spec = chart(made, "cpu_bottleneck", Group)
    rows = {row["node"]: row for row in spec.parts[0].records()}
    for node, samples in made.samples.items():
        gpus = np.mean([samples[f"gpu.utilization_percent/{gpu}"] for gpu in GPUS], axis=0)
        is_low = gpus < 10
        held_up = is_low & (samples["cpu.utilization_percent"] > 90)
        assert rows[node]["low"] == pytest.approx(100 * is_low.mean())
        assert rows[node]["held_up"] == pytest.approx(100 * held_up.mean())
    by_phase = spec.parts[2]
    assert sum(value for group in by_phase.parts for value in group.values) == pytest.approx(100)


def test_idle_gpus_before_the_first_step_count_as_between() -> None:
    job = FakeJob()
    job.worker()
    curves = {"gpu.utilization_percent/gpu0": [0.0] * 8, "cpu.utilization_percent": [99.0] * 8}
    spec = CHARTS.load("cpu_bottleneck")().build(job.record(curves).job())
    assert isinstance(spec, Group)
    by_phase = spec.parts[2]
    assert isinstance(by_phase, StackedBars)
    assert [(group.label, group.values[0]) for group in by_phase.parts] == [("between", 100.0)]


def test_gpu_memory_of_all_nodes_shares_a_time_axis() -> None:
    first = FakeJob().record({"gpu.memory_used_percent/gpu0": [10.0] * 20})
    late = FakeJob(first.backend.uri, "node-b", first.clock)
    late.record({"gpu.memory_used_percent/gpu0": [60.0] * 40})
    spec = CHARTS.load("gpu_memory")().build(late.job())
    assert isinstance(spec, LineChart)
    for curve, (begin, end) in zip(spec.curves, ((0, 10), (10, 30)), strict=True):
        drawn = [at for at, value in zip(spec.x, curve.values, strict=True) if value in (10, 60)]
        assert drawn[0] == pytest.approx(begin, abs=1)
        assert drawn[-1] == pytest.approx(end, abs=1)


def test_batch_size_chart_uses_95th_percentiles(made: Reported) -> None:
    rows = {row["gpu"]: row for row in chart(made, "batch_size", Table).records()}
    for node, samples in made.samples.items():
        row = rows[f"{node} gpu0"]
        assert row["gpu_p95"] == pytest.approx(
            np.percentile(samples["gpu.utilization_percent/gpu0"], 95), rel=1e-6
        )
        assert row["memory_p95"] == pytest.approx(
            np.percentile(samples["gpu.memory_used_percent/gpu0"], 95), rel=1e-6
        )


def test_growing_gpu_memory_is_visible(made: Reported) -> None:
    spec = chart(made, "gpu_memory", LineChart)
    first = [value for value in spec.curves[0].values if value is not None]
    assert first[0] == pytest.approx(20, abs=1)
    assert first[-1] == pytest.approx(50, abs=1)


def test_losses_are_the_mean_of_the_workers(made: Reported) -> None:
    spec = chart(made, "losses", LineChart)
    assert spec.x == tuple(range(STEPS))
    assert spec.curves[0].values == pytest.approx(made.losses)
    assert f"{made.losses[-1]:.4g} at step {STEPS - 1}" in spec.note


def test_layers_chart_shows_gradient_norms(made: Reported) -> None:
    spec = chart(made, "layers", Heatmap)
    assert spec.x == tuple(range(0, STEPS, 20))
    rows = dict(zip(spec.rows, spec.values, strict=True))
    for layer in ("first.weight", "last.weight"):
        norms = [np.linalg.norm(gradient) for gradient in made.gradients[f"0/{layer}"]]
        assert rows[f"gradient/{layer}"] == pytest.approx(norms)
    assert spec.is_logarithmic


def test_node_heatmap_has_a_row_per_core_and_gpu(made: Reported) -> None:
    spec = chart(made, "node_heatmap", Heatmap)
    assert spec.rows == ("cpu0", "cpu1", "gpu0", "gpu1")
    assert spec.values[0][0] == pytest.approx(
        round(made.samples["node-a"]["cpu.utilization_percent/cpu0"][0]), abs=1
    )


def test_fleet_chart_has_a_row_per_node(made: Reported) -> None:
    assert set(chart(made, "fleet", Heatmap).rows) == {"node-a", "node-b"}


@pytest.mark.parametrize("name", CHARTS.names())
def test_no_chart_fails_for_an_empty_job(name: str) -> None:
    job: JobResults = FakeJob().end().job()
    spec = CHARTS.load(name)().build(job)
    assert spec is None or json.dumps(spec.document(), allow_nan=False)


@pytest.mark.parametrize("name", CHARTS.names())
def test_every_chart_has_a_title_a_description_and_a_location(name: str) -> None:
    kind = CHARTS.load(name)
    assert kind.__doc__
    assert kind.title
    assert kind.pages or kind.section


@pytest.mark.parametrize("name", CHARTS.names())
def test_rules_of_a_chart_exist(name: str) -> None:
    for rule in CHARTS.load(name).rules:
        assert load_rule(rule).__name__ == rule


def test_report_and_status_count_profiled_steps_alike() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(30):
        worker.step(step, {"forward": 0.1}, profiled=10 <= step < 15)
    worker.flush()
    shown = job.end().job()
    assert shown.summary["steps"] == {"train": 30}
    table = CHARTS.load("step_statistics")().build(shown)
    assert isinstance(table, Table)
    [row] = table.records()
    assert (row["steps"], row["profiled"]) == (30, 5)
    assert "of 30 steps (5 profiled steps excluded)" in table.note
    phases = CHARTS.load("phase_time")().build(shown)
    assert phases is not None
    assert phases.note.endswith("(30 steps).")
