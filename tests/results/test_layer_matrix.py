"""A statistic of many tensors over steps."""

import numpy as np
import pytest

from sonde.results.layer_matrix import UPDATE_RATIO, Layers, read_layers, sort_by_model_order
from tests.fakes.job import FakeJob


def layers(job: FakeJob, reduction: str, *names: str) -> Layers:
    result = job.job()
    holders = result.tensors().holders
    requested = {name: holders[name] for name in names or holders}
    readers = result.timeline().readers
    return read_layers(readers, requested, "train", reduction)


def test_layers_can_be_sorted_in_model_order() -> None:
    job = FakeJob()
    job.worker().add_tensor("stem").add_tensor("body.2").add_tensor("body.1").add_tensor(
        "head"
    ).flush()
    readers = job.job().timeline().readers
    result = sort_by_model_order(readers, ["body.1", "head", "new", "stem"])
    assert result == ["stem", "body.1", "head", "new"]


def test_layer_matrix_has_a_row_per_tensor_and_a_column_per_recorded_step() -> None:
    job = FakeJob()
    worker = job.worker()
    worker.statistics("l.2", 0, [3.0, 4.0]).statistics("l.10", 0, [1.0])
    worker.statistics("l.2", 7, [0.0, 2.0]).flush()
    result = layers(job, "l2_norm", "l.2", "l.10")
    assert result.names == ("l.2", "l.10")
    assert result.steps.tolist() == [0, 7]
    assert result.values[0].tolist() == [5.0, 2.0]
    assert result.values[1, 0] == 1.0
    assert np.isnan(result.values[1, 1])


def test_shards_of_several_workers_are_one_row() -> None:
    job = FakeJob()
    for rank in range(2):
        worker = job.worker(rank, world_size=2).add_tensor("w", is_shard=True)
        worker.statistics("w", 3, [3.0] if rank else [4.0]).flush()
    assert layers(job, "l2_norm").values.tolist() == [[5.0]]


def test_replicated_tensors_show_the_first_worker() -> None:
    job = FakeJob()
    for rank in range(2):
        job.worker(rank, world_size=2).statistics("w", 3, [float(rank + 1)]).flush()
    assert layers(job, "max").values.tolist() == [[1.0]]


def test_update_ratio_is_the_change_since_the_previous_recorded_step() -> None:
    job = FakeJob()
    worker = job.worker()
    for step, values in enumerate(([2.0, 0.0], [3.0, 0.0], [3.0, 0.0])):
        worker.statistics("w", step, values)
    worker.flush()
    [row] = layers(job, UPDATE_RATIO).values
    assert np.isnan(row[0])
    assert row[1:].tolist() == pytest.approx([0.5, 0.0])


def test_many_steps_are_averaged_with_their_neighbors() -> None:
    values = np.array([[1.0, 3.0, 5.0, np.nan]])
    result = Layers(("w",), np.array([0, 1, 2, 3]), values).coarser(2)
    assert result.steps.tolist() == [0, 2]
    assert result.values.tolist() == [[2.0, 5.0]]
    assert Layers(("w",), np.array([0, 1, 2, 3]), values).coarser(4).values is values
