"""Rules on real jobs: findings during the run and in the summary."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from sonde.errors import SondeError
from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import PYTHON, Sonde, is_alive

# A loss that does not fall, logged by the script, so that no framework is needed.
STUCK = """
import pathlib, random, sys, time
import sonde
random.seed(0)
for step in range(10**6):
    sonde.log(loss=2.3 + random.gauss(0, 0.02))
    sonde.step()
    time.sleep(0.005)
    if step >= int(sys.argv[1]) and pathlib.Path("end").exists():
        break
"""
RULES = ("--rules", "LossNotDecreasing,StepOutlier")


def watcher_of(sonde: Sonde) -> int:
    """Return the PID of the process that runs the rules, or 0."""
    for pid in sonde.processes():
        with suppress(OSError):  # it may have exited
            if b"follow" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                return pid
    return 0


def test_findings_of_a_running_job_match_a_check_afterwards(sonde: Sonde) -> None:
    job = sonde.start("run", "--name", "job", *RULES, PYTHON, "-c", STUCK, "300")

    def alarming() -> list[tuple[str, str]]:
        with suppress(SondeError):  # the job does not exist yet
            rules = sonde.status()["rules"]
            return [(rule["rule"], rule["status"]) for rule in rules if rule["findings"]]
        return []

    assert eventually(alarming)
    assert alarming() == [("LossNotDecreasing", "IssuesFound")]
    assert sonde.runs()
    # a report of the running job has the finding; rules write one themselves after two minutes
    assert sonde.run("report", "job", "--refresh").returncode == 0
    assert sonde.runs()
    folder = sonde.job_folder("job") / "report"
    page = json.loads((folder / "report.json").read_text())
    assert [entry["rule"] for entry in page["findings"]] == ["LossNotDecreasing"]
    # a killed watcher is restarted, and the job is not affected
    first = watcher_of(sonde)
    assert first
    os.kill(first, signal.SIGKILL)
    assert eventually(lambda: watcher_of(sonde) not in (0, first))
    assert is_alive(sonde.command_pid())
    (sonde.folder / "end").touch()
    assert job.wait(120) == 0
    live = sonde.run("findings", "job", "--json")
    checked = sonde.run("check", "job", *RULES, "--json")
    assert live.returncode == 0
    [live_findings], [later_findings] = (_findings(done.stdout) for done in (live, checked))
    assert live_findings == later_findings
    assert live_findings["rule"] == "LossNotDecreasing"


def _findings(text: bytes) -> list[dict[str, Any]]:
    document = json.loads(text)
    rules = document.get("rules")
    result = document["findings"] if rules is None else [f for r in rules for f in r["findings"]]
    retained = ("id", "rule", "severity", "message", "step", "time", "triggered", "is_open")
    return [{name: entry[name] for name in retained} for entry in result]


def test_the_summary_has_the_verdict_and_fail_on_sets_the_exit_code(sonde: Sonde) -> None:
    (sonde.folder / "end").touch()
    command = (PYTHON, "-c", STUCK, "300")
    done = sonde.run("run", "--name", "job", *RULES, "--fail-on", "warning", *command)
    message = done.stderr.decode()
    assert "LossNotDecreasing: " in message
    assert "Recommendations: sonde findings job" in message
    assert done.returncode == 3


def test_invalid_rules_are_an_error_before_the_command_starts(sonde: Sonde) -> None:
    (sonde.folder / "mine.py").write_text("import nothing_of_that_name\n")
    (sonde.folder / "sonde.toml").write_text('[rules.Mine]\nsource = "mine.py"\n')
    done = sonde.run("run", "--name", "job", "--fail-on", "info", "touch", "ran")
    assert done.returncode == 2
    assert b"nothing_of_that_name" in done.stderr
    assert not (sonde.folder / "ran").exists()
    assert not sonde.job_folder("job").exists()
