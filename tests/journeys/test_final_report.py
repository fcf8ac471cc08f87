"""The report at the end of a real job."""

import json

from tests.journeys.sonde_cli import PYTHON, Sonde

SCRIPT = """
import sonde
for step in range(20):
    sonde.log(loss=1 / (step + 1))
    sonde.step()
raise SystemExit(7)
"""
RULES = ("--rules", "LossNotDecreasing")


def test_a_job_ends_with_its_report_and_its_own_exit_code(sonde: Sonde) -> None:
    done = sonde.run("run", "--name", "job", *RULES, PYTHON, "-c", SCRIPT)
    assert done.returncode == 7
    page = sonde.job_folder("job") / "report" / "report.html"
    # on a busy machine it may exceed its time limit of 10 s
    assert (b"sonde: Report: " in done.stderr) == page.exists()
    assert (b"sonde: No report: not enough time" in done.stderr) == (not page.exists())
    if not page.exists():
        assert sonde.run("report", "job").returncode == 0
    document = json.loads(page.with_suffix(".json").read_text())
    assert document["exit_code"] == 7
    assert document["notes"]["losses"] == "Last loss: train 0.05 at step 19."
    assert "job failed after" in page.read_text()


def test_no_report_is_written_if_disabled(sonde: Sonde) -> None:
    done = sonde.run("run", "--name", "job", "--no-report", PYTHON, "-c", "pass")
    assert b"report" not in done.stderr.lower()
    assert not (sonde.job_folder("job") / "report").exists()
