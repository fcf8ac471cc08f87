"""watch, status, jobs and export over a recorded job, through the command line."""

import csv
import io
import json
import threading
from pathlib import Path

import pytest

from sonde.cli import jobs
from sonde.cli._main import run_command_line
from sonde.errors import StoreError
from sonde.read.jobs import JobFacts, read_job
from sonde.records.job import JobInfo, JobState
from sonde.store.backends import Backend, open_backend
from sonde.store.facts import encode_facts
from sonde.store.layout import JOB
from tests.fakes.job import FakeJob
from tests.results.machines import end, machine, record


@pytest.fixture
def job(tmp_path: Path) -> FakeJob:
    recorded = record(str(tmp_path / "store" / "resnet"), machine(gpus=2, busy_gpus=1))
    end(recorded, JobState.FAILED, "exit code 3", 3)
    return recorded


def run(job: FakeJob, *words: str) -> int:
    command, *rest = words
    return run_command_line([command, job.backend.uri, *rest])


def test_watch_prints_one_frame_of_a_finished_job(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(job, "watch") == 0
    shown = capsys.readouterr().out
    assert "failed after 20 s: exit code 3" in shown
    assert "1 of 2 busy" in shown


def test_current_values_are_one_json_document(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(job, "watch", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    [node] = document["nodes"]
    assert document["state"] == "failed"
    assert [gpu["utilization_percent"] for gpu in node["gpus"]] == [97.0, 0.0]


def test_unknown_node_lists_the_available_nodes(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(job, "watch", "--node", "nope") == 2
    assert "no node 'nope'. Nodes: gpu-box" in capsys.readouterr().err


def test_status_adds_the_resources(job: FakeJob, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(job, "status", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["resources"]
    by_series = {(row["metric"], row["device"]): row for row in rows}
    assert by_series["gpu.utilization_percent", "gpu0"]["p95"] == pytest.approx(97.0)
    assert by_series["gpu.utilization_percent", "gpu1"]["p95"] == 0.0
    assert ("cpu.utilization_percent", "cpu0") not in by_series
    assert by_series["memory.used_bytes", ""]["unit"] == "bytes"


def test_status_is_readable(job: FakeJob, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(job, "status") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "resnet failed after 20 s: exit code 3"
    assert any(line.startswith("GPU gpu0") and "97%" in line for line in lines)


def test_jobs_are_listed_as_text_and_json(
    job: FakeJob, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    assert run_command_line(["jobs", "--store", store]) == 0
    assert "resnet  failed" in capsys.readouterr().out
    assert run_command_line(["jobs", "--store", store, "--json"]) == 0
    [entry] = json.loads(capsys.readouterr().out)
    assert entry["start_time"].endswith("Z")


def test_csv_goes_to_standard_output(
    job: FakeJob, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert (
        run(job, "export", "--format", "csv", "--metric", "gpu.u*", "--start", "1", "--end", "2")
        == 0
    )
    head, *rows = csv.reader(io.StringIO(capsysbinary.readouterr().out.decode()))
    assert head == [
        *("time", "node"),
        *("gpu.utilization_percent/gpu0", "gpu.utilization_percent/gpu1"),
    ]
    assert [row[2:] for row in rows] == [["97", "0"]] * 2


def test_export_writes_a_complete_file_and_describes_it(
    job: FakeJob, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.parquet"
    assert run(job, "export", "--format", "parquet", "-o", str(target), "--json") == 0
    output = json.loads(capsys.readouterr().out)
    assert output["bytes"] == target.stat().st_size > 0
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["out.parquet"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--format", "csv", "--metric", "nope.*"), "no metric 'nope.*'. Available: cpu.*, disk.*"),
        (("--format", "csv", "--json"), "Specify one with -o FILE"),
        (("--format", "csv", "--node", "nope"), "no node 'nope'"),
    ],
)
def test_invalid_export_is_a_usage_error_with_a_hint(
    job: FakeJob, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(job, "export", *words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--start", "noon"), ("--buckets", "0"), ("--format", "xls")])
def test_invalid_value_is_refused_before_reading(job: FakeJob, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as remaining:
        run(job, "export", "--format", "csv", *words)
    assert remaining.value.code == 2


def test_unwritable_path_is_one_error_line(
    job: FakeJob, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "file" / "x.csv"
    path.parent.touch()
    assert run(job, "export", "--format", "csv", "-o", str(path)) == 1
    assert f"Cannot write {path}" in capsys.readouterr().err


def test_doctor_prints_json_and_detects_an_unwritable_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["doctor", "--store", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["store"]["writable"] is True
    assert run_command_line(["doctor", "--store", "/proc/nowhere"]) == 1
    shown = capsys.readouterr().out
    assert "✗ store" in shown
    assert "not available:" in shown


def test_empty_export_reports_the_available_range(
    job: FakeJob, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(job, "export", "--format", "csv", "--start", "5000") == 0
    assert "No data in this range. resnet covers 2" in capfd.readouterr().err


def test_compacting_an_unknown_node_is_an_error(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(job, "compact", "--node", "zz") == 2
    assert "no node 'zz'. Nodes: gpu-box" in capsys.readouterr().err


def test_one_unreadable_job_does_not_hide_the_others(
    job: FakeJob,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record(str(tmp_path / "store" / "broken"), machine())

    def fail_for_one(backend: Backend, now_ns: int) -> JobFacts:
        if backend.uri.endswith("broken"):
            raise StoreError("cannot read it")
        return read_job(backend, now_ns)

    monkeypatch.setattr(jobs, "read_job", fail_for_one)
    assert run_command_line(["jobs", "--store", str(tmp_path / "store")]) == 0
    printed = capsys.readouterr()
    assert "resnet  failed" in printed.out
    assert "broken: cannot read it" in printed.err


def test_job_is_not_accepted_as_a_store(job: FakeJob, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["jobs", "--store", job.backend.uri]) == 1
    assert "resnet is a job, not a store. Its store is " in capsys.readouterr().err


def test_demo_has_a_minimum_duration(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["demo", "--seconds", "4"]) == 2
    assert "5 or more" in capsys.readouterr().err


def test_slow_job_does_not_delay_the_list(
    job: FakeJob,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    FakeJob(str(tmp_path / "store" / "stuck"))
    held = threading.Event()

    def read(backend: Backend, now_ns: int) -> JobFacts:
        if backend.uri.endswith("stuck"):
            held.wait()
        return read_job(backend, now_ns)

    monkeypatch.setattr(jobs, "read_job", read)
    monkeypatch.setattr(jobs, "MAX_READ_SECONDS", 0.5)
    assert run_command_line(["jobs", "--store", str(tmp_path / "store"), "--json"]) == 0
    held.set()

    listed = {
        document["job"]: document["state"] for document in json.loads(capsys.readouterr().out)
    }
    assert listed == {"resnet": "failed", "stuck": "broken"}


def test_job_that_never_started_is_not_listed(
    job: FakeJob, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    phantom = open_backend(str(tmp_path / "store" / "phantom"))
    phantom.create(JOB, encode_facts(JobInfo("phantom", 1, "node-a"), JOB))
    assert run_command_line(["jobs", "--store", str(tmp_path / "store"), "--json"]) == 0
    assert [listed["job"] for listed in json.loads(capsys.readouterr().out)] == ["resnet"]
