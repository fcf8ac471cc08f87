"""Tensor endpoints: names, statistics, histograms, values and layers."""

import numpy as np
import pytest

from sonde.errors import UsageError
from sonde.store.format import STATISTICS
from sonde.store.statistics import BINS, encode_histogram
from sonde.web.tensor_values import value_document
from tests.fakes.job import FakeJob
from tests.fakes.worker import statistics_of
from tests.web.api_client import ApiClient


def trained() -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in (0, 5, 10):
        worker.add_tensor("fc.10.weight", "weights").add_tensor("fc.2.weight", "weights")
        worker.add_tensor("gradient/fc.2.weight", "gradients")
        worker.statistics("fc.10.weight", step, [3.0, 4.0])
        worker.statistics("fc.2.weight", step, [float(step), 0.0])
        worker.statistics("gradient/fc.2.weight", step, [0.0, np.nan])
    worker.values(5, {"fc.2.weight": np.arange(6, dtype=np.float32).reshape(2, 3)})
    worker.flush()
    job.clock.advance(1)
    return job.end()


def test_names_are_filtered_by_collection_and_search_in_natural_order() -> None:
    client = ApiClient(trained())
    document = client.document("tensors")
    assert document["collections"] == [
        {"name": "gradients", "count": 1},
        {"name": "weights", "count": 2},
    ]
    names = [tensor["name"] for tensor in document["tensors"]]
    assert names == ["fc.2.weight", "fc.10.weight", "gradient/fc.2.weight"]
    weights = client.document("tensors", collection="weights", search="FC.1")
    assert [tensor["name"] for tensor in weights["tensors"]] == ["fc.10.weight"]
    assert "update_ratio" in document["reductions"]
    page = client.document("tensors", offset=1, limit=1)
    assert (page["total"], [tensor["name"] for tensor in page["tensors"]]) == (3, ["fc.10.weight"])


def test_a_reduction_of_several_tensors_is_returned_over_steps() -> None:
    document = ApiClient(trained()).document(
        "tensors/statistics", names="fc.10.weight\nfc.2.weight", reduction="l2_norm"
    )
    curves = {curve["name"]: (curve["steps"], curve["values"]) for curve in document["series"]}
    assert curves == {
        "fc.10.weight": ([0, 5, 10], [5.0, 5.0, 5.0]),
        "fc.2.weight": ([0, 5, 10], [0.0, 5.0, 10.0]),
    }


def test_more_steps_than_pixels_keep_their_extremes() -> None:
    job = FakeJob()
    worker = job.worker()
    for step, value in enumerate([1.0, 9.0, 2.0, 4.0]):
        worker.statistics("w", step, [value])
    worker.flush()
    [curve] = ApiClient(job).document("tensors/statistics", names="w", reduction="max", px=2)[
        "series"
    ]
    assert curve == {
        "name": "w",
        "worker": 0,
        "steps": [0, 2],
        "values": [5.0, 3.0],
        "low": [1.0, 2.0],
        "high": [9.0, 4.0],
    }


def test_histograms_over_steps_count_every_value_once() -> None:
    frame = ApiClient(trained()).frame("tensors/histograms", name="fc.2.weight")
    assert frame["steps"] == [0, 5, 10]
    assert frame["zeros"] == [2, 1, 1]
    assert sum(frame["counts"]) == 2
    bins = len(frame["edges"]) - 1
    assert len(frame["counts"]) == 3 * bins


def test_histograms_of_neighboring_steps_are_merged() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(6):
        worker.statistics("w", step, [1.0, 0.0])
    worker.flush()
    frame = ApiClient(job).frame("tensors/histograms", name="w", px=2)
    assert (frame["steps"], frame["zeros"], frame["merged"]) == ([0, 3], [3, 3], 3)
    assert frame["counts"] == [3, 3]


def test_a_histogram_of_very_many_values_counts_them_all() -> None:
    job, counts = FakeJob(), [0] * BINS
    counts[BINS // 2 + 3] = 3_000_000_000
    worker = job.worker().add_tensor("w")
    for step in range(4):
        row = (*statistics_of(np.ones(1))[:-1], encode_histogram(counts))
        worker.writer.add(STATISTICS, ("w", job.clock.now_ns(), step, "train", *row))
    worker.flush()
    frame = ApiClient(job).frame("tensors/histograms", name="w", px=2)
    assert sum(frame["counts"]) == 12_000_000_000


def test_a_saved_value_has_a_table_an_image_and_statistics() -> None:
    client = ApiClient(trained())
    assert client.document("tensors/value", name="fc.2.weight")["steps"] == [5]
    document = client.document("tensors/value", name="fc.2.weight", step=5, column=1)
    assert document["shape"] == [2, 3]
    assert document["figures"]["mean"] == 2.5
    assert document["figures"]["zeros"] == 1
    assert document["table"] == {"row": 0, "column": 1, "values": [[1.0, 2.0], [4.0, 5.0]]}
    assert document["picture"] == {"rows": 2, "columns": 3, "values": [0, 1, 2, 3, 4, 5]}
    with pytest.raises(UsageError, match="at step 6"):
        client.document("tensors/value", name="fc.2.weight", step=6)


def test_layers_are_in_model_order_with_a_value_per_step() -> None:
    client = ApiClient(trained())
    frame = client.frame("tensors/layers", collection="weights", reduction="zero_fraction")
    assert frame["names"] == ["fc.10.weight", "fc.2.weight"]
    assert frame["steps"] == [0, 5, 10]
    assert frame["values"] == [0.0, 0.0, 0.0, 1.0, 0.5, 0.5]
    ratios = client.frame("tensors/layers", collection="weights", reduction="update_ratio")
    assert np.isnan(ratios["values"][0])
    assert ratios["values"][5] == pytest.approx(1.0)


def test_invalid_tensor_queries_are_refused() -> None:
    client = ApiClient(trained())
    with pytest.raises(UsageError, match="Unknown tensor 'fc"):
        client.document("tensors/statistics", names="fc.3.weight")
    with pytest.raises(UsageError, match="names is empty"):
        client.document("tensors/statistics")
    with pytest.raises(UsageError, match="limit is 12"):
        client.document("tensors/statistics", names="\n".join("abcdefghijklm"))
    with pytest.raises(UsageError, match="Unknown reduction 'size'"):
        client.frame("tensors/layers", reduction="size")


def test_the_image_of_a_large_tensor_keeps_values_far_from_zero() -> None:
    values = np.zeros((400, 300))
    values[399, 299] = -7.0
    document = value_document(values, (1000, 1000))
    picture = document["picture"]
    assert (picture["rows"], picture["columns"]) == (192, 192)
    assert min(picture["values"]) == -7.0
    assert document["table"]["values"] == [[-7.0]]


@pytest.mark.parametrize(
    ("values", "table"),
    [
        (np.float32(3.5), [[3.5]]),
        (np.array([1, 2]), [[1, 2]]),
        (np.array([np.nan, np.inf, -np.inf]), [["NaN", "∞", "−∞"]]),
        (np.array([True, False]), [[1, 0]]),
        (np.ones((2, 2, 1)), [[1.0, 1.0], [1.0, 1.0]]),
        (np.empty((0,)), [[]]),
    ],
)
def test_values_of_any_type_are_shown(values: np.ndarray, table: list[list[object]]) -> None:
    assert value_document(np.asarray(values), (0, 0))["table"]["values"] == table
