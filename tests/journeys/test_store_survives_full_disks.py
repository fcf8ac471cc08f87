"""Full, read-only or vanishing disks do not change how the command ends."""

import json
import os
import shutil
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import COMMAND, PYTHON, Sonde, plain_environment

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a disk takes root")

# In its own mount namespace: a small disk, a job with disk problems, its status.
IN_A_SMALL_DISK = """
disk=$1; shift
mkdir -p "$disk" && mount -t tmpfs -o size=1m none "$disk" || exit 99
"$@"
code=$?
mount -o remount,rw "$disk"
rm -f "$disk/filling"
$SONDE status job --store "$disk" --json >status.json 2>status.error
cp -r "$disk/job" recorded
exit $code
"""
SMALL_DISK = ("unshare", "-m", "sh", "-c", IN_A_SMALL_DISK, "sh")

# Every problem begins after the job has stored some data.
ONCE_RECORDED = """
import os, sys, time
from glob import glob
def once_recorded(job):
    while not any(os.path.getsize(one) for one in glob(job + "/nodes/*/system/*.frames")):
        time.sleep(0.05)
"""

FILL = (
    ONCE_RECORDED
    + """
disk, is_freed = sys.argv[1], sys.argv[2] == "freed"
once_recorded(disk + "/job")
with open(disk + "/filling", "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        pass
time.sleep(3 if is_freed else 8)  # more than the last page of a segment can hold
if is_freed:
    os.unlink(disk + "/filling")
    time.sleep(2)
sys.exit(7)
"""
)

MAKE_READ_ONLY = (
    ONCE_RECORDED
    + """
import subprocess
disk, is_freed = sys.argv[1], sys.argv[2] == "freed"
once_recorded(disk + "/job")
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
time.sleep(3)
if is_freed:
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    time.sleep(2)
sys.exit(7)
"""
)

REMOVE = (
    ONCE_RECORDED
    + """
import shutil
once_recorded(sys.argv[1])
os.rename(sys.argv[1], "gone")  # at once, before new files appear
shutil.rmtree("gone", ignore_errors=True)
time.sleep(float(sys.argv[2]))
sys.exit(7)
"""
)


def run_in_a_small_disk(folder: Path, trouble: str, ending: str) -> tuple[int, float]:
    """Return the exit code of the job and the total duration."""
    disk = str(folder / "disk")
    job = [*COMMAND, "run", "--name", "job", "--store", disk, "--interval", "100ms"]
    environment = {**plain_environment(), "SONDE": " ".join(COMMAND)}
    began = time.monotonic()
    done = subprocess.run(
        [*SMALL_DISK, disk, *job, PYTHON, "-c", trouble, disk, ending],
        cwd=folder,
        env=environment,
        check=False,
        timeout=150,
    )
    return done.returncode, time.monotonic() - began


def status(folder: Path) -> dict[str, Any]:
    text = (folder / "status.json").read_text()
    assert text, (folder / "status.error").read_text()
    result: dict[str, Any] = json.loads(text)
    return result


@needs_root
@pytest.mark.parametrize("trouble", [FILL, MAKE_READ_ONLY], ids=["full", "read-only"])
def test_disk_problems_that_end_before_the_job_lose_nothing(tmp_path: Path, trouble: str) -> None:
    code, _ = run_in_a_small_disk(tmp_path, trouble, "freed")

    document = status(tmp_path)
    assert code == 7
    assert (document["state"], document["exit_code"]) == ("failed", 7)
    assert document["lost"] == []
    times = Sonde(tmp_path).samples("cpu.*", str(tmp_path / "recorded"))[0]
    # no gap during the problem, apart from delays on a busy machine
    assert max(late - early for early, late in pairwise(times)) < 2.5
    assert times[-1] - times[0] > 4


@needs_root
def test_a_disk_that_stays_full_keeps_the_exit_code_and_status_reports_lost_data(
    tmp_path: Path,
) -> None:
    code, seconds = run_in_a_small_disk(tmp_path, FILL, "stays")

    document = status(tmp_path)
    assert code == 7
    assert seconds < 10.5 + 60
    assert (document["state"], document["exit_code"]) == ("failed", 7)
    assert "system samples" in {entry["what"] for entry in document["lost"]}
    assert all(
        "full" in entry["reason"] or "space" in entry["reason"] for entry in document["lost"]
    )
    assert Sonde(tmp_path).samples("cpu.*", str(tmp_path / "recorded"))[0]


@needs_root
def test_a_disk_that_stays_read_only_keeps_the_exit_code_and_the_job_is_lost(
    tmp_path: Path,
) -> None:
    code, seconds = run_in_a_small_disk(tmp_path, MAKE_READ_ONLY, "stays")

    document = status(tmp_path)
    assert code == 7
    assert seconds < 5.5 + 60
    assert document["state"] == "lost"
    assert document["lost"] == []
    assert Sonde(tmp_path).samples("cpu.*", str(tmp_path / "recorded"))[0]


@pytest.mark.parametrize("seconds_left", [6.5, 1.0])
def test_a_job_whose_folder_is_removed_continues_in_a_new_one_and_reports_lost_data(
    sonde: Sonde, seconds_left: float
) -> None:
    folder = str(sonde.job_folder("job"))
    words = ("--interval", "100ms", PYTHON, "-c", REMOVE, folder, str(seconds_left))

    done = sonde.run("run", "--name", "job", *words)

    document = sonde.status()
    assert done.returncode == 7
    assert (document["state"], document["exit_code"]) == ("failed", 7)
    assert "system samples" in {entry["what"] for entry in document["lost"]}
    assert any("no longer exists" in entry["reason"] for entry in document["lost"])
    assert sonde.samples("cpu.*")[0]


def test_a_store_whose_folder_is_removed_is_created_again(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", PYTHON, "-c", "input()", stdin=subprocess.PIPE)
    assert eventually(lambda: sonde.runs() and sonde.samples("cpu.*")[0])

    (sonde.folder / "sonde-jobs").rename(sonde.folder / "gone")
    shutil.rmtree(sonde.folder / "gone", ignore_errors=True)

    assert eventually(lambda: sonde.runs() and sonde.samples("cpu.*")[0])
    launcher.communicate(b"\n", 120)
    assert launcher.returncode == 0
    assert sonde.state() == "completed"
