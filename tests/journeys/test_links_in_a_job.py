"""Recording never writes through symbolic links inside a job's folder."""

from pathlib import Path

import pytest

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import PYTHON, Sonde

# Replaces folders of its own job with links, then imports a framework and trains.
TRAINING = """
import os, pathlib, sys
job, outside = pathlib.Path(os.environ["SONDE_JOB_URI"]), pathlib.Path(sys.argv[1])
attempt = job / "nodes" / os.environ["SONDE_NODE"] / "attempt-001"
attempt.mkdir(parents=True, exist_ok=True)
(attempt / "frameworks").symlink_to(outside)
(job / "workers").symlink_to(outside)
pathlib.Path("jax.py").write_text("__version__ = '1.0'")
sys.path.insert(0, "")
import jax, sonde
for _ in range(5):
    sonde.step()
print("output")
sys.exit(7)
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the user, outside the store."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


def test_links_created_during_a_run_are_not_followed(sonde: Sonde, outside: Path) -> None:
    done = sonde.run("run", "--name", "job", PYTHON, "-c", TRAINING, str(outside))
    assert (done.returncode, done.stdout) == (7, b"output\n"), done.stderr
    assert list(outside.iterdir()) == []
    [line] = [line for line in done.stderr.decode().splitlines() if "Data lost" in line]
    assert "training steps" in line
    assert "workers is a symbolic link" in line


def test_rules_that_cannot_write_through_a_link_are_reported(sonde: Sonde, outside: Path) -> None:
    script = """
import os, pathlib, sys, sonde
(pathlib.Path(os.environ["SONDE_JOB_URI"]) / "rules").symlink_to(sys.argv[1])
for _ in range(5):
    sonde.step()
"""
    words = ("run", "--rules", "AllZero", "--no-report", "--name", "job")
    done = sonde.run(*words, PYTHON, "-c", script, str(outside))
    assert done.returncode == 0
    assert list(outside.iterdir()) == []
    [line] = [line for line in done.stderr.decode().splitlines() if "rules process failed" in line]
    assert "rules is a symbolic link" in line
    [row] = [row for row in sonde.status()["not_collected"] if row["what"] == "rules"]
    assert "rules is a symbolic link" in row["reason"]


def test_job_is_not_joined_through_a_link(sonde: Sonde, outside: Path) -> None:
    sonde.start_reporter()
    assert eventually(lambda: sonde.runs("job"))
    (sonde.job_folder("job") / "nodes" / "b").symlink_to(outside)

    words = ("run", "--name", "job", "--node", "b", PYTHON, "-c", "print('output'); exit(7)")
    done = sonde.run(*words)
    assert (done.returncode, done.stdout) == (7, b"output\n"), done.stderr
    assert list(outside.iterdir()) == []
    assert b"b is a symbolic link" in done.stderr
    assert b"The command runs without recording" in done.stderr
    (sonde.folder / "end").touch()
