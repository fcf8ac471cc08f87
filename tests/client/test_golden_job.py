"""A job recorded by version 0.1.0 opens in this version, with the numbers it had then."""

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

import sonde
from sonde.cli._main import run_command_line
from sonde.client.job import Job

ARCHIVE = Path(__file__).parent.parent / "golden" / "job_format_1.tar.xz"
FORMS = ("points", "points-sealed")  # recorded as frames, and sealed as Parquet

# printed by the script after each epoch: the last batch's loss, the held-out loss, accuracy
PRINTED = (
    (1.278351, 1.245857, 0.5234375),
    (0.810497, 0.708006, 0.8203125),
    (0.500752, 0.355321, 0.90625),
    (0.295602, 0.206426, 0.9296875),
    (0.264113, 0.160939, 0.953125),
)
STEPS_OF_STATISTICS = [0, 1, 2, 3, 6, 8, 15, 18, 20, 27, 34, 40, 43, 54, 60, 68]
FINDING = (
    "scale.weight and 1 more: no optimizer owns it, so it never changes, though others of the "
    "same model have one."
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(params=FORMS)
def job(store: Path, request: pytest.FixtureRequest) -> Job:
    return sonde.open_job(request.param, store)


def test_status_is_as_recorded(job: Job) -> None:
    status = job.summary
    assert (status["job"], status["state"], status["exit_code"]) == (job.name, "completed", 0)
    assert status["start_time"] == "2026-11-18T11:51:42.676356Z"
    assert status["end_time"] == "2026-11-18T11:51:50.058007Z"
    assert status["duration_seconds"] == 7.381651127
    assert status["seen"] == {"framework": "torch 2.13", "inside": True, "why_not": None}
    assert status["steps"] == {"train": 80, "eval": 10}
    assert {name: stage["seconds"] for name, stage in status["stages"].items()} == {
        "initialization": 5.137264,
        "training_loop": 1.720422,
        "finalization": 0.523965,
    }
    assert (status["nodes"], status["workers"], status["attempts"]) == (["trainer"], 1, 1)
    assert (status["lost"], status["not_collected"]) == ([], [])
    assert [notice["what"] for notice in status["notices"]] == [
        "statistics of weights and gradients"
    ]


def test_losses_are_those_the_script_printed(job: Job) -> None:
    losses = job.losses.to_pandas()
    train = losses[losses["mode"] == "train"]
    assert train["step"].tolist() == list(range(80))
    assert train["value"].iloc[0] == 1.5403170585632324
    assert train["value"].sum() == pytest.approx(56.4974020421505, abs=1e-12)
    assert train["value"].iloc[15::16].round(6).tolist() == [row[0] for row in PRINTED]


def test_steps_keep_their_times_and_phases(job: Job) -> None:
    steps = job.steps().to_pandas()
    assert steps["step"].tolist() == list(range(80))
    assert steps["seconds"].sum() == pytest.approx(1.715567809, abs=1e-12)
    assert steps["backward"].sum() == pytest.approx(0.015117114, abs=1e-12)
    assert steps["profiled"].sum() == 8
    assert len(job.steps("eval").to_pandas()) == 10


def test_evaluations_and_logged_scalars_are_those_the_script_printed(job: Job) -> None:
    results = job.evaluations.to_pandas()
    assert results["step"].tolist() == [16, 32, 48, 64, 80]
    assert results["samples"].tolist() == [128] * 5
    assert results["loss"].round(6).tolist() == [row[1] for row in PRINTED]
    assert set(results["data"]) == {"loader at train.py:44"}
    assert job.scalars("accuracy").to_pandas()["value"].tolist() == [row[2] for row in PRINTED]


def test_tensors_keep_their_statistics_and_values(job: Job) -> None:
    assert len(job.tensors()) == 15
    assert len(job.tensors(collection="gradients")) == 4
    gradient = job.tensor("gradient/model.0.weight")
    assert gradient.steps() == STEPS_OF_STATISTICS
    norms = gradient.reduction("l2_norm").to_pandas()
    assert norms["value"].iloc[-1] == 0.2925034844738446
    value = gradient.value(step=20)
    assert (value.shape, value.dtype.name) == ((24, 16), "float32")
    assert value.ravel()[:2].tolist() == [-0.001821068930439651, 0.005404675379395485]
    stored = norms[norms["step"] == 20]["value"].item()
    assert stored == pytest.approx(float(np.linalg.norm(value.astype(np.float64))), rel=1e-6)


def test_the_finding_is_as_recorded(job: Job) -> None:
    findings = job.findings().to_pandas().to_dict("records")
    assert len(findings) == 1
    assert (findings[0]["rule"], findings[0]["severity"]) == ("ParameterNotUpdated", "warning")
    assert findings[0]["message"] == FINDING
    assert (findings[0]["first_step"], findings[0]["last_step"]) == (1, 79)
    assert json.loads(findings[0]["evidence"]) == {
        "tensors": ["scale.weight", "scale.bias"],
        "count": 2,
        "owned": 4,
        "replaced": False,
    }


def test_system_samples_are_as_recorded(job: Job) -> None:
    cpu = job.system("cpu.utilization_percent").to_pandas()
    assert len(cpu) == 38
    both = cpu["cpu.utilization_percent"].dropna().astype(np.float64)
    assert (len(both), both.min(), both.max()) == (37, 2.5, 72.5)
    assert both.mean() == pytest.approx(48.23285458538983, abs=1e-9)
    memory = job.system("memory.used_bytes").to_pandas()["memory.used_bytes"].dropna()
    assert (len(memory), memory.iloc[0], memory.max()) == (15, 461258752, 775766016)


def test_profiled_windows_are_as_recorded(job: Job) -> None:
    windows = [
        (window["kind"], window["first_step"], window["last_step"])
        for window in job.summary["profiles"]
    ]
    assert windows == [("operators", 5, 5), ("dataloader", 7, 7), ("python", 9, 14)]
    operators = job.operators().to_pandas().set_index("name")
    assert len(operators) == 51
    assert operators.loc["aten::addmm", "calls"] == 3
    assert len(job.observations().to_pandas()) == 174


def test_a_report_can_be_written_and_the_recorded_one_is_kept(job: Job, tmp_path: Path) -> None:
    job.report(tmp_path / "report.html")
    written = json.loads((tmp_path / "report.json").read_text())
    folder = Path(job.uri.removeprefix("file://"))
    recorded = json.loads((folder / "report/report.json").read_text())
    for key in ("state", "exit_code"):
        assert written[key] == recorded[key], key
    assert len(written["findings"]) == len(recorded["findings"])
    for now, before in zip(written["findings"], recorded["findings"], strict=True):
        assert {key: now[key] for key in before} == before  # later versions add fields


def test_the_list_of_jobs_names_both(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["jobs", "--store", str(store), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {(row["job"], row["state"]) for row in rows} == {(name, "completed") for name in FORMS}
