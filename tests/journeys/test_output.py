"""Output to full disks, closed streams and pipes."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.journeys.sonde_cli import COMMAND, PYTHON, Sonde, plain_environment

TRAINING_LOOP = """
import torch

model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(300):
    optimizer.zero_grad()
    model(torch.ones(64, 64)).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "words",
    [
        ["jobs"],
        ["status", "job"],
        ["status", "job", "--json"],
        ["watch", "job"],
        ["export", "job", "--format", "csv"],
        ["export", "job", "--format", "parquet"],
    ],
    ids=" ".join,
)
def test_output_to_a_full_disk_is_a_one_line_error(finished: Sonde, words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = finished.run(*words, stdout=full, stderr=subprocess.PIPE)
    assert done.stderr == b"sonde: Cannot write the output: no space left on device\n"
    assert done.returncode == 1


@pytest.mark.parametrize(
    "line", ["watch job >&-", "jobs >&-", "status job --json >&-", "jobs | true; echo $PIPESTATUS"]
)
def test_closed_output_is_not_an_error(finished: Sonde, line: str) -> None:
    shell = ["bash", "-c", f"{COMMAND[0]} -m sonde {line}"]
    done = subprocess.run(
        shell, cwd=finished.folder, env=plain_environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout in (b"", b"0\n")


def test_the_summary_and_the_status_match(sonde: Sonde) -> None:
    done = sonde.run("run", "--name", "job", "--no-rules", "--no-report", "false")
    assert re.search(rb"sonde: job failed after [\d.]+ m?s: exit code 1\. Overhead:", done.stderr)


@pytest.mark.parametrize("script", ["sum(range(9))", TRAINING_LOOP])
def test_the_summary_has_the_same_overhead_as_the_status(sonde: Sonde, script: str) -> None:
    (sonde.folder / "script.py").write_text(script)
    words = ("--name", "job", "--no-rules", "--no-report", PYTHON, "script.py")
    summary = sonde.run("run", *words).stderr.decode()
    status = sonde.run("status", "job").stdout.decode()
    (reported,) = re.findall(r"Overhead: (?:(.*), )?[\d.]+ CPU-seconds", summary)
    (recorded,) = re.findall(r"^overhead +(?:(.*), )?[\d.]+ CPU-seconds", status, re.MULTILINE)
    assert reported == recorded
    assert ("of step time" in reported) == (script is TRAINING_LOOP)


def test_the_summary_of_a_long_exception_is_one_line(sonde: Sonde) -> None:
    done = sonde.run("run", "--name", "job", PYTHON, "-c", r"raise ValueError('one\ntwo')")
    assert b": ValueError: one. Overhead:" in done.stderr


def test_attaching_with_a_name_in_use_does_not_suggest_resume(finished: Sonde) -> None:
    sleeper = finished.start("run", "--name", "other", "sleep", "600")
    done = finished.run("attach", str(sleeper.pid), "--name", "job")
    assert done.returncode == 1
    assert b"Choose another --name." in done.stderr
    assert b"--resume" not in done.stderr
