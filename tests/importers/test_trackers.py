"""Importing curves of TensorBoard, Weights & Biases, MLflow and tables."""

import contextlib
import math
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.errors import DamagedError, SondeError, UsageError
from sonde.importers import IMPORTERS, Intake, JobDraft
from sonde.importers._scalar_names import name_scalars
from tests.fakes.clock import FakeClock
from tests.fakes.recordings import Imported, imported

GOLDEN = Path(__file__).parent.parent / "golden" / "trackers.tar.xz"

Point = tuple[str, str, int]  # name, mode, step


@pytest.fixture
def trackers(tmp_path: Path) -> Path:
    """Real recordings of the three programs: see the README of the folder."""
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "trackers"


def values_of(result: Imported, name: str = "*") -> dict[Point, float]:
    rows = result.job.scalars(name).to_arrow().to_pylist()
    return {(row["name"], row["mode"], row["step"]): row["value"] for row in rows}


def test_a_run_of_tensorboard_has_losses_by_mode(trackers: Path, tmp_path: Path) -> None:
    result = imported("tensorboard", trackers / "tensorboard", tmp_path / "store")
    assert values_of(result, "loss") == {
        **{("loss", "train", step): pytest.approx(1 / (step + 1)) for step in range(5)},
        **{("loss", "eval", step): pytest.approx(2 / (step + 1)) for step in (0, 2, 4)},
    }
    assert values_of(result, "lr*") == {
        ("lr_a/lr", "train", 0): pytest.approx(0.1),
        ("lr_b/lr", "train", 0): pytest.approx(0.2),
    }
    assert result.job.summary["start_time"] == "2023-11-14T22:13:20.000000Z"
    assert "Imported as losses: train/loss (train), val/loss (eval)" in result.intake.remarks
    assert dict(+result.intake.left_out) == {"text values": 1}


def test_histograms_of_tensorboard_become_statistics(trackers: Path, tmp_path: Path) -> None:
    job = imported("tensorboard", trackers / "tensorboard", tmp_path / "store").job
    tensor = job.tensor("fc.weight")
    assert (tensor.steps(), tensor.info.collections) == ([0, 2, 4], ("weights", "all"))
    [row, *_] = tensor.to_arrow().to_pylist()
    assert row["zero_fraction"] == pytest.approx(0.1)
    assert row["std"] == pytest.approx(0.95, abs=0.15)
    assert dict(tensor.reduction("median"))[0] == pytest.approx(0, abs=0.3)


def test_folders_named_after_modes_are_one_job(trackers: Path, tmp_path: Path) -> None:
    [file, *_] = sorted((trackers / "tensorboard").glob("*tfevents*"))
    for mode in ("train", "validation"):
        (tmp_path / "logs" / mode).mkdir(parents=True)
        (tmp_path / "logs" / mode / file.name).write_bytes(file.read_bytes())
    result = imported("tensorboard", tmp_path / "logs", tmp_path / "store")
    modes = {mode for name, mode, _ in values_of(result) if name == "loss"}
    assert modes == {"train", "eval"}


def test_several_runs_of_tensorboard_are_refused(trackers: Path, tmp_path: Path) -> None:
    (trackers / "tensorboard").rename(trackers / "first")
    (trackers / "second").mkdir()
    [file, *_] = sorted((trackers / "first").glob("*tfevents*"))
    (trackers / "second" / file.name).write_bytes(file.read_bytes())
    with pytest.raises(UsageError, match="several runs: first, first/lr_a, first/lr_b, second"):
        imported("tensorboard", trackers, tmp_path / "store")


def test_an_offline_run_of_wandb_has_its_logged_numbers(trackers: Path, tmp_path: Path) -> None:
    result = imported("wandb", trackers / "wandb", tmp_path / "store")
    losses = values_of(result, "loss")
    assert [losses["loss", "train", step] for step in range(6)] == [
        pytest.approx(1 / (step + 1)) for step in range(6)
    ]
    assert math.isnan(losses["loss", "train", 8])
    assert losses["loss", "eval", 5] == 1
    assert values_of(result, "nested.a")["nested.a", "train", 3] == 3
    assert dict(+result.intake.left_out) == {"values that are not numbers": 1}


def test_a_run_of_mlflow_has_its_metrics(trackers: Path, tmp_path: Path) -> None:
    result = imported("mlflow", trackers / "mlruns", tmp_path / "store")
    losses = values_of(result, "loss")
    assert [losses["loss", "train", step] for step in (0, 5)] == [1, pytest.approx(1 / 6)]
    assert losses["loss", "eval", 5] == 1
    with (trackers / "mlruns/1/run/metrics/train_loss").open("a") as file:
        file.write("1795121754834 0.5 x\n17951")
    damaged = imported("mlflow", trackers / "mlruns", tmp_path / "again")
    assert values_of(damaged).keys() == values_of(result).keys()
    assert any("train_loss has unreadable lines: 2" in line for line in damaged.intake.remarks)


@pytest.mark.parametrize("kind", ["tensorboard", "wandb"])
@settings(max_examples=6)
@given(share=st.floats(0, 1))
def test_a_truncated_recording_is_read_up_to_its_end(
    kind: str, share: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("truncated")
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(folder, filter="data")
    [file, *_] = sorted(each for each in (folder / "trackers" / kind).glob("*") if each.is_file())
    complete = values_of(imported(kind, file, folder / "complete"))
    size = round(share * file.stat().st_size)
    file.write_bytes(file.read_bytes()[:size])
    with contextlib.suppress(DamagedError):  # nothing is left of it
        values = values_of(imported(kind, file, folder / "store"))
        assert {key: complete[key] for key in values} == pytest.approx(values, nan_ok=True)


def test_a_table_with_a_column_per_value_is_a_job(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text(
        "epoch,time,train_loss,val_loss,note\n"
        "0,2023-11-14T22:13:20,0.5,,a\n"
        "1,2023-11-14T22:13:30,0.25,0.75,b\n"
        "2,broken\n"
    )
    result = imported("csv", path, tmp_path / "store")
    assert values_of(result) == {
        ("loss", "train", 0): 0.5,
        ("loss", "train", 1): 0.25,
        ("loss", "eval", 1): 0.75,
    }
    assert result.job.summary["end_time"] == "2023-11-14T22:13:30.000000Z"
    assert dict(+result.intake.left_out) == {"lines with the wrong number of values": 1}


def test_a_table_with_a_row_per_value_has_modes_and_workers(tmp_path: Path) -> None:
    table = pa.table(
        {
            "name": ["loss", "loss", "accuracy"],
            "step": [3, 3, 4],
            "value": [0.5, 0.25, 1.0],
            "mode": ["train", "eval", "eval"],
            "worker": [0, 0, 1],
            "time": [1.7e9, 1.7e9, 1.7e9],
        }
    )
    pq.write_table(table, tmp_path / "run.parquet")
    result = imported("parquet", tmp_path / "run.parquet", tmp_path / "store")
    assert values_of(result) == {
        ("loss", "train", 3): 0.5,
        ("loss", "eval", 3): 0.25,
        ("accuracy", "eval", 4): 1.0,
    }
    assert [life.info.rank for life in result.job.lives] == [0, 1]


def test_a_table_without_times_ends_when_its_file_was_written(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("loss\n0.5\n0.25\n")
    result = imported("csv", path, tmp_path / "store")
    assert values_of(result) == {("loss", "train", 0): 0.5, ("loss", "train", 1): 0.25}
    assert any("no date" in remark for remark in result.intake.remarks)


@given(data=st.binary(max_size=200))
@settings(max_examples=20)
@pytest.mark.parametrize("kind", ["csv", "parquet", "wandb", "tensorboard"])
def test_any_bytes_are_imported_or_refused(
    kind: str, data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    path = folder / "run.tfevents"
    path.write_bytes(data)
    importer = IMPORTERS.load(kind)()
    with (
        contextlib.suppress(SondeError),
        JobDraft(f"memory://{folder.name}", "job", FakeClock()) as draft,
    ):
        importer.read_all(importer.sources(path), Intake(draft, lambda _size: None))


@pytest.mark.parametrize(
    ("name", "loss", "mode"),
    [
        ("loss", "loss", "train"),
        ("train/loss", "loss", "train"),
        ("val_loss", "loss", "eval"),
        ("Loss/test", "loss", "eval"),
        ("epoch_loss", "loss", "train"),
        ("validationLoss", "loss", "eval"),
        ("eval/accuracy", "eval/accuracy", "eval"),
        ("loss_scale", "loss_scale", "train"),
    ],
)
def test_losses_and_modes_are_recognized_by_name(name: str, loss: str, mode: str) -> None:
    [scalar] = name_scalars({name: 1}).values()
    assert (scalar.name, scalar.mode) == (loss, mode)


def test_of_several_losses_the_longest_is_the_loss() -> None:
    names = name_scalars({"train/loss": 5, "epoch_loss": 2, "val_loss": 2})
    assert {recorded: scalar.name for recorded, scalar in names.items()} == {
        "train/loss": "loss",
        "epoch_loss": "epoch_loss",
        "val_loss": "loss",
    }
