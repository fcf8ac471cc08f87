"""`job.system(...)`: tables, arrays, buckets and statistics."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from sonde.client.job import Job
from sonde.errors import UsageError
from tests.fakes.clock import START_NS
from tests.fakes.job import FakeJob

START = datetime.fromtimestamp(START_NS // 10**9, UTC)


@pytest.fixture
def job() -> Job:
    """Record two nodes, one with a GPU, for a hundred ticks each."""
    first = FakeJob()
    first.record({"cpu.user_percent": range(100), "gpu.power_watts/gpu0": range(100, 200)})
    second = FakeJob(first.backend.uri, "node-b")
    second.record({"cpu.user_percent": range(100)})
    return first.job()


def test_all_series_of_all_nodes_are_one_table(job: Job) -> None:
    table = job.system().to_arrow()

    assert table.column_names == ["time", "node", "cpu.user_percent", "gpu.power_watts/gpu0"]
    assert table.num_rows == 200
    assert str(table.schema.field("time").type) == "timestamp[ns, tz=UTC]"
    assert table["time"][0].as_py() == START
    assert np.isnan(table["gpu.power_watts/gpu0"].to_numpy()[100:]).all()


def test_pandas_and_polars_agree_with_arrow(job: Job) -> None:
    metrics = job.system("cpu.*", node="node-a")

    expected = metrics.to_arrow()["cpu.user_percent"].to_pylist()

    pandas, polars = metrics.to_pandas(), metrics.to_polars()
    assert pandas["cpu.user_percent"].tolist() == expected
    assert polars["cpu.user_percent"].to_list() == expected
    assert pandas["time"][0].to_pydatetime() == polars["time"][0] == START


@pytest.mark.parametrize(
    ("metric", "device", "expected"),
    [
        ("*", None, ["cpu.user_percent", "gpu.power_watts/gpu0"]),
        ("gpu.*", None, ["gpu.power_watts/gpu0"]),
        ("*", "gpu0", ["gpu.power_watts/gpu0"]),
        ("cpu.user_percent", None, ["cpu.user_percent"]),
        ("cpu.*", "gpu0", []),
    ],
)
def test_metrics_are_selected_by_pattern_and_device(
    job: Job, metric: str, device: str | None, expected: list[str]
) -> None:
    assert [each.key for each in job.system(metric, device=device).series] == expected


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (10, 20),
        (10.0, 20.0),
        (START + timedelta(seconds=10), START + timedelta(seconds=20)),
        (
            (START + timedelta(seconds=10)).astimezone(timezone(timedelta(hours=-8))),
            (START + timedelta(seconds=20)).isoformat(),
        ),
        ("2023-11-14T22:13:30Z", "2023-11-14 22:13:40"),
    ],
)
def test_a_range_is_given_in_seconds_iso_texts_or_datetimes(
    job: Job, start: datetime | str | float, end: datetime | str | float
) -> None:
    table = job.system("cpu.*", node="node-a", start=start, end=end).to_arrow()

    assert table["cpu.user_percent"].to_pylist() == list(range(20, 40))


def test_invalid_time_is_an_error_with_examples(job: Job) -> None:
    with pytest.raises(UsageError, match="Invalid time 'yesterday'"):
        job.system(start="yesterday")


def test_an_unknown_node_lists_the_known_ones(job: Job) -> None:
    with pytest.raises(UsageError, match="Nodes: node-a, node-b"):
        job.system(node="node-c")


def test_number_of_buckets_is_limited(job: Job) -> None:
    table = job.system("cpu.*", node="node-a").buckets(10).to_arrow()

    assert table.num_rows <= 10
    assert sum(table["count"].to_pylist()) == 100
    assert min(table["minimum"].to_pylist()) == 0
    assert max(table["maximum"].to_pylist()) == 99


def test_buckets_of_all_series_and_nodes_are_one_table(job: Job) -> None:
    table = job.system().buckets(1000).to_arrow()

    assert table.num_rows == 400
    assert set(table["node"].to_pylist()) == {"node-a", "node-b"}


def test_a_node_without_samples_in_the_range_has_no_buckets() -> None:
    first = FakeJob().record({"cpu.user_percent": range(10)})
    FakeJob(first.backend.uri, "node-b")

    table = first.job().system().buckets().to_arrow()

    assert set(table["node"].to_pylist()) == {"node-a"}


def test_statistics_are_exact(job: Job) -> None:
    first, second, *_ = job.system().statistics().rows

    assert (first.node, first.count, first.minimum, first.p50, first.maximum) == (
        *("node-a", 100),
        *(0, 49.5, 99),
    )
    assert second.p90 == pytest.approx(np.percentile(np.arange(100, 200), 90))


def test_statistics_of_a_missing_series_are_unknown(job: Job) -> None:
    last = job.system().statistics().rows[-1]

    assert (last.node, last.series.key, last.count) == ("node-b", "gpu.power_watts/gpu0", 0)
    assert np.isnan(last.maximum)


def test_it_prints_as_a_readable_table(job: Job) -> None:
    lines = repr(job.system(node="node-a")).splitlines()

    assert lines[0].split() == [
        *("node", "metric", "device", "unit"),
        *("minimum", "p50", "p90", "p95", "p99", "maximum"),
    ]
    assert lines[1].split()[:5] == ["node-a", "cpu.user_percent", "percent", "0", "49.5"]
    assert len(lines) == 3


def test_query_without_matches_prints_a_sentence(job: Job) -> None:
    assert repr(job.system("nothing")).startswith("No metric 'nothing' recorded. Available: ")
    assert job.system("nothing").to_arrow().num_columns == 2


def test_arrays_by_device_lose_no_series(job: Job) -> None:
    alone = FakeJob().record(
        {"gpu.power_watts/gpu0": [1], "gpu.power_watts/gpu1": [2], "gpu.used_percent/gpu0": [3]}
    )

    one_metric = alone.job().system("gpu.power_watts").by_device()
    several = alone.job().system("gpu.*").by_device()

    assert {name: values.tolist() for name, (_, values) in one_metric.items()} == {
        "gpu0": [1],
        "gpu1": [2],
    }
    assert len(several) == 3
    assert "node-b:cpu.user_percent" in job.system("cpu.*").by_device()
