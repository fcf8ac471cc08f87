"""`sonde import`, and other commands on the imported job."""

import json
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from tests.fakes.recordings import BASE_NS, STREAM, span, training_step, write, write_text

Output = pytest.CaptureFixture[str]


def trace(path: Path) -> Path:
    kernel = span("gemm", 1200, 50, STREAM, cat="kernel", args={"device": 0, "stream": 7})
    mark = {"ph": "i", "name": "mark", "ts": 1000, "pid": 1, "tid": 1}
    events = [*training_step(4, 1000), *training_step(5, 2000, sequence=10), kernel, mark]
    return write(path, events, baseTimeNanoseconds=BASE_NS)


def sonde(store: Path, *words: str) -> int:
    return run_command_line([words[0], "--store", str(store), *words[1:]])


def test_recording_becomes_a_job_named_after_its_file(tmp_path: Path, capsys: Output) -> None:
    path = trace(tmp_path / "resnet 50.pt.trace.json.gz")
    assert sonde(tmp_path / "store", "import", "kineto", str(path)) == 0
    output = capsys.readouterr()
    assert output.out == "resnet-50: 1 worker, 2 steps, 17 operations\n"
    assert output.err == "sonde: Skipped: instants (1)\n"
    assert sonde(tmp_path / "store", "jobs", "--json") == 0
    [job] = json.loads(capsys.readouterr().out)
    assert (job["job"], job["state"]) == ("resnet-50", "ended")


def test_imported_job_works_with_other_commands(tmp_path: Path, capsys: Output) -> None:
    store, path = tmp_path / "store", trace(tmp_path / "trace.json")
    assert sonde(store, "import", "kineto", str(path), "--name", "mine") == 0
    for words in (["jobs"], ["status", "mine"], ["operators", "mine"], ["compact", "mine"]):
        assert sonde(store, *words) == 0, words
    assert sonde(store, "rm", "mine", "--yes") == 0
    assert "Traceback" not in capsys.readouterr().err


def test_import_prints_one_json_document(tmp_path: Path, capsys: Output) -> None:
    path = trace(tmp_path / "trace.json")
    assert sonde(tmp_path / "store", "import", "kineto", str(path), "--json") == 0
    output = capsys.readouterr()
    assert json.loads(output.out) == {
        "job": "trace",
        "store": str(tmp_path / "store"),
        "workers": 1,
        "steps": 2,
        "tensors": 0,
        "operations": 17,
        "scalars": 0,
        "left_out": {"instants": 1},
        "remarks": [],
    }
    assert output.err == ""


def test_broken_file_is_one_error_line_and_creates_no_job(tmp_path: Path, capsys: Output) -> None:
    path = write_text(tmp_path / "trace.json", '{"traceEvents": "none"}')
    assert sonde(tmp_path / "store", "import", "kineto", str(path)) == 1
    output = capsys.readouterr().err
    assert output.count("\n") == 1
    assert str(path) in output
    assert not list((tmp_path / "store").glob("*"))


def test_a_name_in_use_is_refused(tmp_path: Path, capsys: Output) -> None:
    path = trace(tmp_path / "trace.json")
    assert sonde(tmp_path / "store", "import", "kineto", str(path)) == 0
    assert sonde(tmp_path / "store", "import", "kineto", str(path)) == 1
    assert "--name" in capsys.readouterr().err


def test_unknown_kind_lists_the_available_kinds(capsys: Output) -> None:
    with pytest.raises(SystemExit) as exit_:
        run_command_line(["import", "nsight", "x"])
    assert exit_.value.code == 2
    output = capsys.readouterr().err
    assert all(kind in output for kind in ("chrome-trace", "horovod", "kineto", "xprof"))


def test_progress_bar_is_shown_only_on_a_terminal(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trace(tmp_path / "trace.json")
    assert sonde(tmp_path / "store", "import", "kineto", str(path), "--name", "piped") == 0
    assert "importing" not in capsys.readouterr().err
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich treats it as a terminal
    assert sonde(tmp_path / "store", "import", "kineto", str(path), "--name", "seen") == 0
    assert "importing" in capsys.readouterr().err
