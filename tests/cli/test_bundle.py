"""`sonde bundle`: one file with the dashboard of a job, of bounded size, redacted on request."""

import json
from pathlib import Path
from typing import Any

import pytest

from sonde.cli._main import run_command_line
from sonde.records.job import Surroundings
from sonde.store.facts import encode_facts
from sonde.store.layout import attempt_key
from sonde.web.bundle.recorder import Recorder
from sonde.web.bundle.redaction import Redaction
from sonde.web.library import Library
from tests.fakes.bundles import body_of, read_bundle, replies_to
from tests.fakes.job import FakeJob
from tests.fakes.stores import fleet

HOST = "gpu-box-17"


@pytest.fixture
def job(tmp_path: Path) -> FakeJob:
    made = FakeJob(str(tmp_path / "store" / "first"), node=HOST)
    worker = made.worker(device="cuda:0")
    for step in range(20):
        made.record({"cpu.utilization_percent": [10.0 + step]})
        worker.scalar("loss", step, 2.0).step(step, {"forward": 0.2})
    worker.flush()
    return made


def bundle(job: FakeJob, page: Path, *options: str) -> dict[str, Any]:
    assert run_command_line(["bundle", job.backend.uri, "-o", str(page), *options]) == 0
    return read_bundle(page)


def test_bundle_contains_the_pages_of_a_job(job: FakeJob, tmp_path: Path) -> None:
    document = bundle(job.end(), tmp_path / "page.html")
    paths = {entry["path"] for entry in document["replies"]}
    assert {"", "headline", "charts", "charts/losses", "rules", "series", "heat"} <= paths
    assert {"spans", "steps", "breakdown", "timeline", "timeline/totals", "tensors"} <= paths
    summary = json.loads(body_of(replies_to(document, "")[0]))
    assert summary["job"] == "first"
    assert not any(summary["controls"].values())


def test_bundle_of_a_running_job_says_when_it_was_written(job: FakeJob, tmp_path: Path) -> None:
    library = Library(str(tmp_path / "store"), job.beat().clock)
    recording = Recorder(library, "first", Redaction()).record(5_000_000, lambda _count: None)
    (summary,) = (json.loads(body_of(entry)) for entry in recording.entries if not entry["path"])
    assert summary["state"] == "running"
    assert recording.as_of == summary["now"] == recording.start + recording.seconds


def test_page_may_run_only_its_own_script_and_connect_to_nothing(
    job: FakeJob, tmp_path: Path
) -> None:
    bundle(job.end(), tmp_path / "page.html")
    head = (tmp_path / "page.html").read_text().partition("</head>")[0]
    assert "default-src &#x27;none&#x27;" in head
    assert "script-src &#x27;sha256-" in head
    assert "connect-src" not in head


def test_large_job_is_cut_to_the_maximum_size_and_says_what_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet(str(tmp_path), 12, "fleet")
    words = ["bundle", "fleet", "--store", str(tmp_path), "-o", str(tmp_path / "page.html")]
    assert run_command_line([*words, "--max-size", "1MB"]) == 0
    assert (tmp_path / "page.html").stat().st_size <= 1_000_000
    assert "Left out to limit the size: " in capsys.readouterr().out
    document = read_bundle(tmp_path / "page.html")
    assert document["omitted"]
    assert replies_to(document, "fleet")


def test_redacted_bundle_names_no_host_command_or_folder(job: FakeJob, tmp_path: Path) -> None:
    machine = {"host": "gpu-box-17.example.com", "cores": "4"}
    surroundings = Surroundings(machine=machine, environment={"HOSTNAME": HOST})
    job.backend.create(attempt_key(HOST, 1, "surroundings"), encode_facts(surroundings))
    document = bundle(job.end(), tmp_path / "page.html", "--redact")
    content = b"".join(body_of(entry) for entry in document["replies"])
    assert b"gpu-box" not in content + (tmp_path / "page.html").read_bytes()
    assert b"train.py" not in content
    assert replies_to(document, "series")[0]["query"] == {"node": "host-1"}
    assert HOST.encode() in b"".join(
        body_of(entry) for entry in bundle(job, tmp_path / "open.html")["replies"]
    )


def test_unknown_job_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "store").mkdir()
    assert run_command_line(["bundle", "resnet", "--store", str(tmp_path / "store")]) != 0
    assert "resnet" in capsys.readouterr().err


def test_size_that_cannot_hold_the_dashboard_is_refused(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run_command_line(["bundle", job.backend.uri, "--max-size", "10KB"])
    assert "Use at least 1 MB" in capsys.readouterr().err
