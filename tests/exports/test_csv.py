import csv
import io

from tests.exports.selections import export, select
from tests.fakes.job import FakeJob


def rows(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode())))


def test_a_row_per_sample_with_iso_times_and_empty_cells_for_missing_values() -> None:
    job = FakeJob().record(
        {"cpu.user_percent": [12.5, float("nan")], "memory.used_bytes": [8e9, 8e9]}
    )
    assert rows(export("csv", select(job))) == [
        ["time", "node", "cpu.user_percent", "memory.used_bytes"],
        ["2023-11-14T22:13:20.000000Z", "node-a", "12.5", "8000000000"],
        ["2023-11-14T22:13:20.500000Z", "node-a", "", "8000000000"],
    ]


def test_a_series_missing_on_a_node_is_empty_for_it() -> None:
    first = FakeJob("memory://csv-of-two/job", "a").record({"cpu.user_percent": [1.0]})
    FakeJob("memory://csv-of-two/job", "b").record({"gpu.power_watts/gpu0": [300.0]})
    selection = select(first, nodes=("a", "b"))
    assert [row[1:] for row in rows(export("csv", selection))] == [
        ["node", "cpu.user_percent", "gpu.power_watts/gpu0"],
        ["a", "1", ""],
        ["b", "", "300"],
    ]


def test_buckets_have_minimum_mean_and_maximum() -> None:
    job = FakeJob().record({"cpu.user_percent": [0.0, 50.0, 100.0, 50.0]})
    [head, row] = rows(export("csv", select(job, buckets=1)))
    assert head[2:] == [f"cpu.user_percent {name}" for name in ("minimum", "mean", "maximum")]
    assert row[2:] == ["0", "50", "100"]


def test_names_with_commas_and_quotes_survive() -> None:
    job = FakeJob().record({'disk.free_bytes//mnt/a,"b"': [1.0]})
    assert rows(export("csv", select(job)))[0][2] == 'disk.free_bytes//mnt/a,"b"'
