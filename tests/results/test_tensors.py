"""One tensor: statistics, histograms and values, replicated and sharded."""

from typing import Any

import numpy as np
import pytest

from sonde.errors import UsageError
from sonde.read.tensors import columns_for
from sonde.store.statistics import BINS, REDUCTIONS, reduce_columns
from sonde.store.tensors import RawTensor
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker, statistics_of

NAMES = (
    *("count", "nans", "infinities", "zeros", "minimum", "maximum", "absolute_minimum"),
    *("sum", "sum_of_squares", "sum_of_absolutes", "histogram"),
)


def values_at(step: int, size: int = 50) -> np.ndarray[Any, Any]:
    return np.random.default_rng(step).normal(size=size)


def recorded(steps: int = 4) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        worker.statistics("fc1.weight", step, values_at(step))
        worker.statistics("gradient/fc1.weight", step, values_at(step + 100))
        job.clock.advance(1)
    worker.flush()
    return job


def sharded() -> tuple[FakeJob, list[FakeWorker]]:
    job = FakeJob()
    workers = [job.worker(rank, world_size=3) for rank in range(3)]
    for worker in workers:
        worker.add_tensor("fc1.weight", "weights", is_shard=True)
    return job, workers


def save(workers: list[FakeWorker], step: int, values: np.ndarray[Any, Any]) -> None:
    for worker, group in zip(workers, np.array_split(values, len(workers)), strict=True):
        worker.statistics("fc1.weight", step, group).flush()


@pytest.mark.parametrize("is_sealed", [False, True])
def test_reductions_match_numpy_at_every_step(is_sealed: bool) -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(3):
        worker.statistics("a", step, values_at(step)).statistics("b", step, [step])
    worker.seal() if is_sealed else worker.flush()
    tensor = job.job().tensor("a")
    assert tensor.steps() == [0, 1, 2]
    for step, value in tensor.reduction("l2_norm"):
        assert value == pytest.approx(np.linalg.norm(values_at(step)))
    assert [value for _, value in tensor.reduction("max")] == [values_at(s).max() for s in range(3)]


@pytest.mark.parametrize(
    "reduction", [reduction for reduction in REDUCTIONS if reduction != "quantiles"]
)
def test_a_reduction_reads_only_the_columns_it_needs(reduction: str) -> None:
    rows = [statistics_of(values_at(step)) for step in range(3)]
    columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    every = {name: np.array(column) for name, column in columns.items()}
    needed = {name: every[name] for name in columns_for(reduction)}
    expected, result = reduce_columns(reduction, every), reduce_columns(reduction, needed)
    assert np.array_equal(expected, result)
    assert reduction == "median" or "histogram" not in needed


def test_tensors_are_selected_by_pattern_and_collection() -> None:
    job = FakeJob()
    worker = job.worker().add_tensor("fc1.weight", "weights").add_tensor("fc1.bias", "biases")
    worker.add_tensor("gradient/fc1.weight", "gradients", note="before clipping")
    opened = job.job()
    assert list(opened.tensors("fc1.*")) == ["fc1.bias", "fc1.weight"]
    assert opened.tensors(collection="gradients").names == ("gradient/fc1.weight",)
    assert "before clipping" in repr(opened.tensors())
    assert opened.tensors().to_arrow()["shape"].to_pylist() == ["2×3"] * 3
    assert repr(opened.tensor("gradient/fc1.weight")) == (
        "<Tensor gradient/fc1.weight: float32 2×3, before clipping>"
    )


def test_an_unknown_tensor_is_an_error_that_suggests_similar_names() -> None:
    with pytest.raises(
        UsageError, match=r"Unknown tensor 'fc1.wieght'. Did you mean 'fc1.weight'\? "
    ):
        recorded().job().tensor("fc1.wieght")
    with pytest.raises(UsageError, match=r"Unknown tensor 'x'. None are available."):
        FakeJob().job().tensor("x")


def test_an_unknown_reduction_or_worker_is_an_error_that_lists_the_known_ones() -> None:
    tensor = recorded().job().tensor("fc1.weight")
    with pytest.raises(UsageError, match=r"Unknown reduction 'l2norm'. Did you mean 'l2_norm'\?"):
        tensor.reduction("l2norm")
    with pytest.raises(UsageError, match=r"not recorded by worker 3. Available: 0"):
        tensor.reduction("mean", worker=3)


def test_replicas_are_not_merged() -> None:
    job = FakeJob()
    for rank in range(2):
        job.worker(rank, world_size=2).statistics("w", 0, [rank + 1.0, 2.0]).flush()
    reduction = job.job().tensor("w").reduction("max")
    assert reduction.to_arrow().select(["worker", "step", "value"]).to_pydict() == {
        "worker": [0, 1],
        "step": [0, 0],
        "value": [2.0, 2.0],
    }
    assert [value for _, value in job.job().tensor("w").reduction("min", worker=1)] == [2.0]


def test_shards_are_merged() -> None:
    job, workers = sharded()
    for step in range(3):
        save(workers, step, values_at(step))
    tensor = job.job().tensor("fc1.weight")
    norms = tensor.reduction("l2_norm")
    assert [value for _, value in norms] == [
        pytest.approx(np.linalg.norm(values_at(step))) for step in range(3)
    ]
    assert norms.to_arrow()["worker"].to_pylist() == [None] * 3
    assert [v for _, v in tensor.reduction("mean")] == [
        pytest.approx(values_at(step).mean()) for step in range(3)
    ]
    group = tensor.reduction("l2_norm", worker=1)
    assert next(iter(group))[1] == pytest.approx(np.linalg.norm(np.array_split(values_at(0), 3)[1]))
    assert tensor.histogram(1).counts.sum() == 50
    median = tensor.quantiles((0.5,)).to_arrow()["p50"].to_pylist()[2]
    assert median == pytest.approx(np.median(values_at(2)), abs=0.3)


def test_step_with_a_missing_shard_is_skipped() -> None:
    job, workers = sharded()
    save(workers, 0, values_at(0))
    save(workers[:2], 1, values_at(1))
    assert [step for step, _ in job.job().tensor("fc1.weight").reduction("sum")] == [0]


def test_shards_are_complete_after_a_restart_with_fewer_workers() -> None:
    job, workers = sharded()
    for step in range(2):
        save(workers, step, values_at(step))
    job.clock.advance(1)
    restarted = [job.worker(rank, restart=1, world_size=2) for rank in range(2)]
    for worker in restarted:
        worker.add_tensor("fc1.weight", "weights", is_shard=True)
    save(restarted, 1, values_at(7))
    result = dict(job.job().tensor("fc1.weight").reduction("sum"))
    assert result == {0: pytest.approx(values_at(0).sum()), 1: pytest.approx(values_at(7).sum())}


def test_repeated_steps_use_the_last_life_of_a_worker() -> None:
    job = FakeJob()
    job.worker().statistics("w", 0, [1.0]).statistics("w", 1, [2.0]).flush()
    job.clock.advance(1)
    job.worker(attempt=2).statistics("w", 1, [5.0]).statistics("w", 2, [6.0]).flush()
    tensor = job.job().tensor("w")
    assert list(tensor.reduction("max")) == [(0, 1.0), (1, 5.0), (2, 6.0)]
    assert list(tensor.reduction("max").by_worker()[0][0]) == [0, 1, 2]


def test_a_histogram_counts_the_values_between_its_edges() -> None:
    job = FakeJob()
    values = np.array([0.0, 0.0, -1.2, 3.0, 3.1, np.nan, np.inf])
    job.worker().statistics("w", 5, values).flush()
    edges, counts = job.job().tensor("w").histogram(5)
    assert (len(edges), len(counts)) == (BINS + 1, BINS)
    expected, _ = np.histogram(values[np.isfinite(values)], edges)
    assert counts.tolist() == expected.tolist()
    assert "█" in repr(job.job().tensor("w").histogram(5))


def test_a_step_without_a_histogram_is_an_error_that_lists_steps_with_one() -> None:
    tensor = recorded().job().tensor("fc1.weight")
    with pytest.raises(
        UsageError, match=r"No histogram of 'fc1.weight' at step 9. Recorded steps: 0, 1, 2"
    ):
        tensor.histogram(9)


def test_full_values_are_restored_exactly() -> None:
    job = FakeJob()
    values = np.array([[1.5, -0.0, np.nan], [np.inf, 1e-45, 3.0]], dtype=np.float32)
    half = RawTensor("BF16", (2,), np.array([0x3FC0, 0x8000], dtype=np.uint16).tobytes())
    job.worker().values(500, {"w": values, "h": half}).values(600, {"w": values + 1})
    opened = job.job()
    assert opened.tensor("w").steps() == [500, 600]
    assert opened.tensor("w").value(500).tobytes() == values.tobytes()
    assert opened.tensor("h").value(step=500).tolist() == [1.5, -0.0]
    with pytest.raises(UsageError, match=r"No value of .h. at step 600. Recorded steps: 500"):
        opened.tensor("h").value(600)


def test_values_saved_twice_use_the_last_life() -> None:
    job = FakeJob()
    job.worker().values(1, {"w": np.zeros(2)})
    job.clock.advance(1)
    job.worker(attempt=2).values(1, {"w": np.ones(2)})
    assert job.job().tensor("w").value(1).tolist() == [1.0, 1.0]


def test_value_of_a_sharded_tensor_requires_a_worker() -> None:
    job, workers = sharded()
    for worker in workers:
        worker.values(0, {"fc1.weight": np.full(2, worker.rank, dtype=np.int64)})
    tensor = job.job().tensor("fc1.weight")
    with pytest.raises(UsageError, match="Pass the worker whose shard you want: 0, 1, 2"):
        tensor.value(0)
    assert tensor.value(0, worker=2).tolist() == [2, 2]


def test_median_is_exact_at_steps_with_full_values() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(2):
        worker.statistics("w", step, [1.0, 1.1, 1.3])
    worker.values(1, {"w": np.array([1.0, 1.1, 1.3])}).flush()
    (_, rough), (_, exact) = job.job().tensor("w").reduction("median")
    assert exact == 1.1
    assert rough == pytest.approx(1.1, rel=0.2)


def test_products_are_read_from_scalars() -> None:
    job = FakeJob()
    job.worker().add_tensor("w").scalar("prod/w", 3, 24.0, source="reduction").flush()
    assert list(job.job().tensor("w").reduction("prod")) == [(3, 24.0)]


def test_tensor_statistics_print_as_tables() -> None:
    tensor = recorded().job().tensor("fc1.weight")
    assert repr(tensor.reduction("l2_norm")).startswith("l2_norm of fc1.weight\nworker  steps")
    assert "p50" in repr(tensor.quantiles())
    assert tensor.reduction("mean").to_pandas()["value"].notna().all()
    assert repr(tensor.reduction("mean", mode="eval")) == ("No mean of fc1.weight recorded")


def test_histograms_over_steps_share_edges_and_count_every_value_once() -> None:
    job = FakeJob()
    worker = job.worker()
    worker.statistics("a", 0, [1.0, 1.2, -3.0, 0.0]).statistics("a", 4, [0.0, 0.0, 2.0, np.nan])
    worker.flush()
    result = job.job().tensor("a").histograms()
    assert result.steps.tolist() == [0, 4]
    assert result.zeros.tolist() == [1, 2]
    assert result.counts.sum(axis=1).tolist() == [3, 1]
    assert result.edges[0] == -4.0
    assert result.edges[-1] == 3.0
    assert result.counts.shape == (2, len(result.edges) - 1)
    index = int(np.searchsorted(result.edges, 1.0, side="right")) - 1  # from 1 to 1.5
    assert result.counts[:, index].tolist() == [2, 0]
    assert repr(result) == "Histograms of a at 2 steps from 0 to 4"


def test_a_tensor_without_histograms_has_none_over_steps() -> None:
    job = FakeJob()
    job.worker().values(0, {"w": np.ones((2, 2), dtype=np.float32)}).flush()
    tensor = job.job().tensor("w")
    assert len(tensor.histograms()) == 0
    assert tensor.value_steps() == [0]
