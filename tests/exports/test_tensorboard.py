"""Event files for TensorBoard: read back by our importer, byte by byte as specified."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from sonde.cli._main import run_command_line
from sonde.client.job import Job
from sonde.exports import EXPORTS, Selection, TrainingData
from sonde.store.backends import open_backend
from sonde.tfevents.events import decode_event
from sonde.tfevents.records import RecordReader
from tests.fakes.job import FakeJob
from tests.fakes.recordings import imported

VALUES = np.concatenate([np.linspace(-2, 3, 90), np.zeros(10)])


@pytest.fixture
def store(tmp_path: Path) -> str:
    job = FakeJob(str(tmp_path / "store" / "resnet"))
    worker = job.worker()
    for step in range(3):
        worker.scalar("loss", step, 1 / (step + 1))
        worker.statistics("fc.weight", step, VALUES * (step + 1))
        job.clock.advance(1)
    worker.scalar("loss", 2, 0.7, mode="eval")
    worker.flush()
    job.record({"cpu.user_percent": [1, 2, 3]}).end()
    return str(tmp_path / "store")


def opened(store: str) -> Job:
    return Job(open_backend(f"{store}/resnet"))


def export(store: str, *words: str) -> int:
    return run_command_line(["export", "resnet", "--store", store, *words])


def test_an_exported_job_can_be_imported_with_the_same_values(store: str, tmp_path: Path) -> None:
    target = tmp_path / "logs" / "events.out.tfevents.1"
    target.parent.mkdir()
    assert export(store, "--format", "tensorboard", "-o", str(target)) == 0
    job = imported("tensorboard", target.parent, tmp_path / "again").job
    losses = job.losses.to_arrow().to_pylist()
    assert {(row["mode"], row["step"]): row["value"] for row in losses} == {
        ("train", 0): 1,
        ("train", 1): 0.5,
        ("train", 2): pytest.approx(1 / 3),
        ("eval", 2): pytest.approx(0.7),
    }
    tensor = job.tensor("fc.weight")
    assert dict(tensor.reduction("mean"))[1] == pytest.approx(2 * VALUES.mean())
    assert dict(tensor.reduction("zero_fraction"))[2] == pytest.approx(0.1)
    original = opened(store).tensor("fc.weight")
    assert tensor.histogram(1).to_arrow() == original.histogram(1).to_arrow()


def test_edges_of_buckets_ascend_and_zeros_have_a_bucket(store: str) -> None:
    job = opened(store)
    sink = io.BytesIO()
    selection = Selection("resnet", (), (), training=TrainingData(job.scalars(), job.tensors()))
    EXPORTS.load("tensorboard")().write(selection, sink, lambda _count: None)
    events = list(map(decode_event, RecordReader(sink.getvalue())))
    [histogram, *_] = [
        summary.histogram for event in events for summary in event.summaries if summary.histogram
    ]
    assert list(histogram.limits) == sorted(set(histogram.limits))
    assert sum(histogram.counts) == histogram.count == 100
    assert histogram.counts[histogram.limits.index(1e-12)] == 10


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--format", "tensorboard", "-o", "x.out"), "only reads files whose name contains"),
        (("--format", "prometheus", "--data", "losses"), "requires --format csv or parquet"),
        (("--format", "csv", "--data", "tensors", "--metric", "nope"), "no matching tensors"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    store: str, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(store, *words) == 2
    assert message in capsys.readouterr().err


def test_losses_and_tensors_are_tables(store: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert export(store, "--format", "csv", "--data", "losses") == 0
    head, first, *_ = csv.reader(capfd.readouterr().out.splitlines())
    assert head == ["name", "worker", "mode", "step", "time", "value", "source"]
    assert first == ["loss", "0", "train", "0", "2023-11-14T22:13:20.000000Z", "1", "hook"]
    assert export(store, "--format", "csv", "--data", "tensors", "--metric", "fc*") == 0
    head, *rows = csv.reader(capfd.readouterr().out.splitlines())
    assert head[:7] == ["name", "worker", "step", "time", "min", "max", "mean"]
    assert [row[2] for row in rows] == ["0", "1", "2"]


def test_tables_of_training_in_parquet_can_be_imported(store: str, tmp_path: Path) -> None:
    target = tmp_path / "losses.parquet"
    assert export(store, "--format", "parquet", "--data", "scalars", "-o", str(target)) == 0
    rows = imported("parquet", target, tmp_path / "again").job.losses.to_arrow().to_pylist()
    assert [(row["mode"], row["step"], row["value"]) for row in rows] == [
        ("train", 0, 1),
        ("train", 1, 0.5),
        ("train", 2, pytest.approx(1 / 3)),
        ("eval", 2, 0.7),
    ]
