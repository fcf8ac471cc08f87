import io

import pyarrow as pa
import pyarrow.parquet as pq

from tests.exports.selections import export, select
from tests.fakes.job import FakeJob


def test_any_reader_gets_times_values_units_and_nulls() -> None:
    job = FakeJob().record({"gpu.power_watts/gpu0": [300.0, float("nan")]})
    table = pq.read_table(io.BytesIO(export("parquet", select(job))))
    assert table.schema.field("time").type == pa.timestamp("ns", "UTC")
    assert table["time"][0].as_py().isoformat() == "2023-11-14T22:13:20+00:00"
    assert table["node"].to_pylist() == ["node-a", "node-a"]
    assert table["gpu.power_watts/gpu0"].to_pylist() == [300.0, None]
    assert table.schema.field("gpu.power_watts/gpu0").metadata[b"unit"] == b"watts"


def test_a_job_without_samples_is_an_empty_file_that_can_be_read() -> None:
    assert pq.read_table(io.BytesIO(export("parquet", select(FakeJob())))).num_rows == 0


def test_buckets_are_columns_too() -> None:
    job = FakeJob().record({"cpu.user_percent": [0.0, 50.0, 100.0, 50.0]})
    table = pq.read_table(io.BytesIO(export("parquet", select(job, buckets=1))))
    assert table["cpu.user_percent mean"].to_pylist() == [50.0]
