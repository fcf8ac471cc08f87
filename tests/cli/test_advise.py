"""`sonde advise`, and the same advice in report, chart, client and summary of a run."""

import json
from pathlib import Path

import pytest

from sonde.charts import CHARTS
from sonde.cli._main import run_command_line
from sonde.client.job import Job
from sonde.engine.check import check_and_record
from sonde.report.build import build_report
from sonde.rules._selection import select_rules
from sonde.terminal.end_of_run import read_verdict, verdict_lines
from tests.fakes.job import FakeJob
from tests.fakes.profiled import launches

KERNEL = "void at::native::vectorized_elementwise_kernel<4, add>"


def launch_bound_job(folder: Path) -> FakeJob:
    return launches([KERNEL] * 100, 2e-5, 2e-6).job(100 * 2e-5, uri=str(folder))


@pytest.fixture
def job(tmp_path: Path) -> Job:
    fake = launch_bound_job(tmp_path / "job")
    check_and_record(fake.backend, select_rules(["LaunchBound"]), fake.clock)
    return fake.job()


def test_the_command_prints_problem_remedies_code_and_certainty(
    job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["advise", job.uri]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(
        "GPU 0 is idle 90% of each step because the host launches 100 kernels in 2 ms"
    )
    assert "model = torch.compile(model)" in printed
    assert "Modeled: " in printed
    assert "Where: aten::add" in printed


def test_the_json_document_has_the_numbers_behind_the_text(
    job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["advise", job.uri, "--json"]) == 0
    [item] = json.loads(capsys.readouterr().out)["advice"]["items"]
    assert (item["rule"], item["bottleneck"]) == ("LaunchBound", "host")
    gains = [remedy["gain"]["speedup"] for remedy in item["remedies"]]
    assert gains == sorted(gains, reverse=True)


def test_client_chart_report_and_summary_have_the_same_sentence(job: Job) -> None:
    sentence = job.advice().sentence
    spec = CHARTS.load("speed_advice")().build(job)
    assert spec is not None
    assert spec.note == sentence
    report = build_report(job, "2026-11-19T00:00:00Z")
    assert report.document["advice"]["sentence"] == sentence
    assert report.html.index('class="short"') < report.html.index("100 kernels in 2 ms")
    assert report.html.index('id="advice"') < report.html.index('id="summary"')
    verdict = read_verdict(job._opened.backend)
    assert verdict is not None
    assert verdict.advice is not None
    assert verdict.advice.sentence == sentence
    assert verdict_lines(verdict, "job")[0].startswith("To make it faster: ")


def test_a_job_whose_rules_never_ran_is_judged_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = launch_bound_job(tmp_path / "job")
    assert run_command_line(["advise", fake.backend.uri]) == 0
    assert "LaunchBound" in capsys.readouterr().out


def test_a_job_without_training_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake = FakeJob(str(tmp_path / "job")).end()
    assert run_command_line(["advise", fake.backend.uri]) == 0
    assert capsys.readouterr().out.startswith("No training steps recorded")
