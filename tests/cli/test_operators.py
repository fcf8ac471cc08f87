"""`sonde operators` over a recorded step, through the command line."""

import json
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from sonde.store import layout
from sonde.store.format import OPERATIONS
from sonde.traces.operations import decode_trace
from tests.fakes.job import FakeJob

TRACE = Path(__file__).parent.parent / "golden" / "kineto_h200_one_step.json.gz"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    job = FakeJob(str(tmp_path_factory.mktemp("store") / "gpt"))
    worker = job.worker()
    for batch in decode_trace(TRACE).batches():
        worker.writer.add_columns(OPERATIONS, batch.columns, batch.first_ns, batch.last_ns)
    worker.flush()
    job.end()
    return job.backend.uri


def test_output_shows_shares_operators_and_idle_causes(
    recorded: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["operators", recorded, "--top", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "64 ms"
    assert any(line.startswith("cuda:0") and "76.3%" in line for line in lines)
    assert any(line.startswith("aten::mm ") and "█" in line for line in lines)
    assert any(line.startswith("not covered") for line in lines)
    assert any("kernel launched late" in line for line in lines)
    assert any("771 kernels" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ((), "aten::mm"),
        (("--by", "kernel"), "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"),
        (("--device", "cpu"), "cudaLaunchKernel"),
        (("--device", "cpu", "--by", "total"), "aten::linear"),
        (("--by", "module"), ""),
        (("--by", "phase"), "between"),
    ],
)
def test_json_document_contains_the_same(
    recorded: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], first: str
) -> None:
    assert run_command_line(["operators", recorded, "--json", *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["operators"][0]["name"] == first
    shares = sum(row["percent"] for row in document["operators"])
    shares += document["operators_left_out"]["percent"] + document["not_covered_percent"]
    assert shares == pytest.approx(100)
    [cpu, gpu] = document["breakdown"]
    assert (cpu["device"], gpu["device"]) == ("cpu", "cuda:0")
    assert run_command_line(["operators", recorded, *words]) == 0


def test_a_job_that_was_not_profiled_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = FakeJob(str(tmp_path / "plain"))
    job.worker().step(0, {"forward": 1.0}).flush()
    job.end()
    assert run_command_line(["operators", job.backend.uri]) == 0
    assert "plain: No operators recorded" in capsys.readouterr().out


def test_undecoded_trace_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = FakeJob(str(tmp_path / "plain"))
    key = layout.profile_key(job.worker().rank, "operators", 5, "writer")
    job.backend.write(f"{key}{layout.TRACE_FACTS_SUFFIX}", b"{}")
    job.end()
    assert run_command_line(["operators", job.backend.uri]) == 0
    assert f"Decode them: sonde compact {job.backend.uri}" in capsys.readouterr().out
    assert run_command_line(["operators", job.backend.uri, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["operators"] == []


def test_synchronization_is_shown_with_its_location(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two steps with a kernel each; the loss is read at the end of the first."""
    job = FakeJob(str(tmp_path / "waits"))
    worker = job.worker()
    for number, begin in enumerate((0.0, 0.1)):
        worker.span("forward", begin, 0.1, number)
        worker.operation("aten::mm", "operator", begin, 0.002, module="fc")
        worker.operation("cudaLaunchKernel", "runtime", begin, 0.001, correlation=number)
        where = {"lane": "stream 7", "device": "cuda:0", "correlation": number}
        worker.operation("gemm", "kernel", begin + 0.001, 0.05, **where)
    worker.operation("aten::item", "operator", 0.01, 0.05, module="loss")
    worker.operation("cudaStreamSynchronize", "runtime", 0.011, 0.045)
    worker.flush()
    job.end()
    assert run_command_line(["operators", job.backend.uri]) == 0
    lines = capsys.readouterr().out.splitlines()
    [cause] = [line for line in lines if line.startswith("sync ")]
    assert cause.split()[-6:] == ["1", "50", "ms", "50", "ms", "33.1%"]
    [path] = [line for line in lines if line.startswith("aten::item")]
    assert "loss, forward" in path
    assert path.split()[-5:] == ["1", "45", "ms", "50", "ms"]


def test_job_without_a_gpu_reports_no_gpu_operations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = FakeJob(str(tmp_path / "host"))
    job.worker().operation("aten::mm", "operator", 0.0, 0.5).flush()
    job.end()
    assert run_command_line(["operators", job.backend.uri, "--device", "gpu"]) == 0
    assert "No GPU operations recorded" in capsys.readouterr().out
    assert run_command_line(["operators", job.backend.uri]) == 0
    assert "aten::mm" in capsys.readouterr().out


def test_zero_rows_is_a_usage_error(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run_command_line(["operators", recorded, "--top", "0"])
    assert stopped.value.code == 2
    assert "'0' is not a number of rows" in capsys.readouterr().err


def test_operators_without_a_visible_share_are_summed_up(
    recorded: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["operators", recorded, "--top", "1000", "--json"]) == 0
    operators = json.loads(capsys.readouterr().out)["operators"]
    assert any(operator["percent"] < 0.05 for operator in operators)
    assert run_command_line(["operators", recorded, "--top", "1000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("operator on"))
    *rows, more, _ = lines[start + 1 : lines.index("", start)]
    visible = sum(operator["percent"] >= 0.05 for operator in operators)
    assert len(rows) == visible
    assert more.startswith(f"{len(operators) - visible} more ")
