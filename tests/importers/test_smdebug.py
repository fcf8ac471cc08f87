"""Importing tensors of smdebug: a real recording, other layouts, and damaged files."""

import math
from pathlib import Path

import numpy as np
import pytest

from sonde.errors import DamagedError, UsageError
from tests.fakes.recordings import Imported, imported
from tests.fakes.smdebug import FakeRecording, unpack_golden

WEIGHT = np.arange(6, dtype=np.float32).reshape(2, 3)


def losses_of(job: Imported) -> dict[tuple[str, str, int], float]:
    rows = job.job.losses.to_arrow().to_pylist()
    return {(row["name"], row["mode"], row["step"]): row["value"] for row in rows}


def test_losses_of_a_real_recording_are_those_that_the_script_printed(tmp_path: Path) -> None:
    recording = unpack_golden(tmp_path)
    result = imported("smdebug", recording / "debug-output", tmp_path / "store")
    assert losses_of(result) == {
        ("loss", "train", 0): pytest.approx(0.7179291844367981),
        ("loss", "train", 2): pytest.approx(0.6667179465293884),
        ("loss", "train", 4): pytest.approx(0.5998355746269226),
        ("loss", "eval", 0): pytest.approx(0.6659494638442993),
        ("loss", "eval", 2): pytest.approx(0.7925097346305847),
    }
    assert result.intake.remarks == []
    assert result.job.summary["stages"] is None  # tensors have no times of steps
    assert result.job.lives[0].beat is not None
    assert result.job.lives[0].beat.steps == {"train": 3, "eval": 2}


def test_tensors_of_a_real_recording_have_collections_statistics_and_values(
    tmp_path: Path,
) -> None:
    recording = unpack_golden(tmp_path)
    job = imported("smdebug", recording / "debug-output", tmp_path / "store").job
    assert job.tensors(collection="gradients").names == (
        "gradient/Net_fc1.bias",
        "gradient/Net_fc1.weight",
        "gradient/Net_fc2.bias",
        "gradient/Net_fc2.weight",
    )
    gradient = job.tensor("gradient/Net_fc1.weight")
    assert (gradient.steps(), gradient.value_steps()) == ([0, 2, 4], [0, 2, 4])
    assert (gradient.info.shape, gradient.info.dtype) == ((3, 4), "float32")
    value = gradient.value(2)
    assert dict(gradient.reduction("l2_norm"))[2] == pytest.approx(np.linalg.norm(value))
    assert gradient.histogram(2)


def test_scalars_of_skipped_steps_get_their_steps(tmp_path: Path) -> None:
    """The script saves `accuracy = step / 10` at each step, and smdebug every second tensor."""
    recording = unpack_golden(tmp_path)
    job = imported("smdebug", recording / "debug-output", tmp_path / "store").job
    rows = job.scalars("accuracy", mode="train").to_arrow().to_pylist()
    assert {row["step"]: row["value"] for row in rows} == {0: 0, 1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4}


def test_rules_run_on_an_imported_recording(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    for step in range(40):
        recording.step(step, {"gradient/fc.weight": np.full(4, 0.1 if step < 20 else math.nan)})
    job = imported("smdebug", tmp_path / "run", tmp_path / "store").job
    [episode] = job.check("ExplodingTensor").findings
    assert episode.finding.tensor == "gradient/fc.weight"


def test_several_losses_keep_their_names(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    recording.collections({"losses": ["first", "second"]})
    recording.step(0, {"first": np.float32(1), "second": np.array([2, 4], np.float32)})
    result = imported("smdebug", tmp_path / "run", tmp_path / "store")
    assert losses_of(result) == {("loss/first", "train", 0): 1, ("loss/second", "train", 0): 3}


def test_reductions_without_values_become_statistics(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    reductions = {"min": -2.0, "max": 4.0, "mean": 1.0, "std": 2.0, "abs_mean": 1.5, "prod": 7.0}
    saved = {f"smdebug/reductions/{name}/w": value for name, value in reductions.items()}
    recording.step(3, saved)
    recording.index(3, {"w": [2, 3]})
    tensor = imported("smdebug", tmp_path / "run", tmp_path / "store").job.tensor("w")
    assert {name: dict(tensor.reduction(name)) for name in reductions} == {
        name: {3: pytest.approx(value)} for name, value in reductions.items()
    }
    assert dict(tensor.reduction("l1_norm")) == {3: pytest.approx(9.0)}
    assert math.isnan(dict(tensor.reduction("abs_min"))[3])
    assert (tensor.info.shape, tensor.info.note) == ((2, 3), "from saved reductions")


def test_modes_are_kept_and_steps_without_a_mode_are_training_steps(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    recording.step(0, {"w": WEIGHT}, mode="GLOBAL")
    recording.step(1, {"w": WEIGHT}, mode="EVAL", mode_step=0)
    recording.step(2, {"w": WEIGHT}, mode="PREDICT", mode_step=0)
    tensor = imported("smdebug", tmp_path / "run", tmp_path / "store").job.tensor("w")
    assert [tensor.steps(mode) for mode in ("train", "eval", "predict")] == [[0], [0], [0]]


def test_each_worker_has_its_tensors(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    for rank in (0, 1, 12):
        recording.step(0, {"w": np.array([rank, 0], np.float64)}, worker=f"worker_{rank}")
    job = imported("smdebug", tmp_path / "run", tmp_path / "store").job
    tensor = job.tensor("w")
    assert tensor.workers == (0, 1, 12)
    assert tensor.value(0, worker=12).tolist() == [12, 0]


def test_workers_named_after_devices_get_ranks(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    for device in range(2):
        name = f"_job-worker_replica-0_task-0_device-GPU-{device}"
        recording.step(0, {"w": WEIGHT + device}, worker=name)
    job = imported("smdebug", tmp_path / "run", tmp_path / "store").job
    assert job.tensor("w").value(0, worker=1).tolist() == (WEIGHT + 1).tolist()


def test_tensors_of_unsupported_types_are_counted(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    recording.step(0, {"w": WEIGHT, "c": np.array([1j], np.complex64)})
    result = imported("smdebug", tmp_path / "run", tmp_path / "store")
    assert result.job.tensors().names == ("w",)
    assert dict(+result.intake.left_out) == {"tensors of type complex64": 1}


def test_damaged_files_are_read_as_far_as_possible_and_reported_in_one_line(
    tmp_path: Path,
) -> None:
    recording = FakeRecording(tmp_path / "run")
    for step in range(3):
        path = recording.step(step, {"a": WEIGHT, "b": WEIGHT})
        if step:
            path.write_bytes(path.read_bytes()[:-10])
    recording.write("collections/000000000/worker_0_collections.json", '{"collec')
    result = imported("smdebug", tmp_path / "run", tmp_path / "store")
    assert result.job.tensor("a").steps() == [0, 1, 2]
    assert result.job.tensor("b").steps() == [0]
    events, collections = sorted(result.intake.remarks, reverse=True)
    assert "000000000001_worker_0.tfevents is truncated after" in events
    assert "(and 1 more event file)" in events
    assert "worker_0_collections.json cannot be read" in collections


def test_unfinished_files_are_ignored(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    recording.step(0, {"w": WEIGHT})
    recording.step(1, {"w": WEIGHT}).rename(tmp_path / "run/events/1.tfevents.tmp")
    result = imported("smdebug", tmp_path / "run", tmp_path / "store")
    assert result.job.tensor("w").steps() == [0]


def test_a_folder_of_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UsageError, match="no recordings of smdebug"):
        imported("smdebug", tmp_path, tmp_path / "store")


def test_a_recording_without_any_readable_tensor_is_an_error(tmp_path: Path) -> None:
    FakeRecording(tmp_path / "run").step(0, {"w": WEIGHT}).write_bytes(b"no events")
    with pytest.raises(DamagedError, match="no readable recording"):
        imported("smdebug", tmp_path / "run", tmp_path / "store")
