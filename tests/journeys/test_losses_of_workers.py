"""A worker whose disk is full reports its losses to the launcher, which prints and records them."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.journeys.sonde_cli import COMMAND, PYTHON, Sonde, plain_environment

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a disk takes root")

IN_A_SMALL_DISK = """
disk=$1; options=$2; shift 2
mkdir -p "$disk" && mount -t tmpfs -o "$options" none "$disk" || exit 99
"$@"
code=$?
rm -rf "$disk/filling"
$SONDE status job --store "$disk" --json >status.json 2>status.error
exit $code
"""

# Fills the disk once the job is recorded, then trains. With the argument "freed", frees it later;
# with "registered", fills it between the registration of the worker and its first rows.
TRAINING = """
import glob, os, sys, time
disk, kind, *words = sys.argv[1:]
freed = "freed" in words
while not glob.glob(disk + "/job/nodes/*/system/*.frames"):
    time.sleep(0.05)
import torch
if "registered" in words:
    layer = torch.nn.Linear(2, 1)
    layer(torch.ones(4, 2)).mean().backward()
    torch.optim.SGD(layer.parameters(), lr=0.1).step()
    while not os.path.exists(disk + "/job/workers/0/attempt-001.0/start.json"):
        time.sleep(0.001)
os.mkdir(disk + "/filling")
try:
    for number in range(100_000):
        with open(f"{disk}/filling/{number}", "wb", buffering=0) as file:
            while kind == "bytes":
                file.write(bytes(4096))
except OSError:
    pass
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(300 if freed else 150):
    if step == 100 and freed:
        import shutil
        shutil.rmtree(disk + "/filling")
    optimizer.zero_grad()
    model(torch.ones(4, 2)).mean().backward()
    optimizer.step()
    time.sleep(0.02)
sys.exit(7)
"""


IN_FOUR_THREADS = """
import threading, torch
torch.set_num_threads(1)
def train():
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(50):
        optimizer.zero_grad()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
threads = [threading.Thread(target=train) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def run(folder: Path, options: str, *words: str) -> tuple["subprocess.CompletedProcess[str]", str]:
    """Run a training on a small disk and return its status."""
    disk = str(folder / "disk")
    job = [*COMMAND, "run", "--no-rules", "--no-report", "--name", "job", "--store", disk]
    done = subprocess.run(
        [
            *("unshare", "-m", "sh", "-c", IN_A_SMALL_DISK, "sh", disk, options),
            *(*job, "--interval", "100ms", PYTHON, "-c", TRAINING, disk, *words),
        ],
        cwd=folder,
        env={**plain_environment(), "SONDE": " ".join(COMMAND)},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    return done, (folder / "status.json").read_text() or (folder / "status.error").read_text()


@needs_root
@pytest.mark.parametrize(
    ("kind", "options"), [("bytes", "size=1m"), ("inodes", "size=8m,nr_inodes=40")]
)
def test_steps_lost_to_a_full_disk_are_reported_at_the_end(
    tmp_path: Path, kind: str, options: str
) -> None:
    done, status = run(tmp_path, options, kind)
    assert done.returncode == 7, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "training steps" in line]
    assert line.startswith("sonde: Data lost: ")
    assert "no space left" in line or "is full" in line
    document = json.loads(status)
    lost = [loss["what"] for loss in document["lost"]]
    assert [what for what in lost if "training steps" in what], lost
    assert (document["state"], document["exit_code"]) == ("failed", 7)


@needs_root
def test_steps_lost_after_the_start_are_not_reported_as_steps_that_never_ran(
    tmp_path: Path,
) -> None:
    done, status = run(tmp_path, "size=8m,nr_inodes=40", "inodes", "registered")
    assert done.returncode == 7, done.stderr
    assert "no optimizer step" not in done.stderr
    document = json.loads(status)
    assert "events" in "".join(loss["what"] for loss in document["lost"])
    assert document["stages"] is None
    assert document["seen"]["why_not"].startswith("Could not record training steps")


@needs_root
def test_recording_continues_when_a_full_disk_has_room_again(tmp_path: Path) -> None:
    done, status = run(tmp_path, "size=1m", "bytes", "freed")
    document = json.loads(status)
    assert done.returncode == 7, done.stderr
    assert [loss["what"] for loss in document["lost"]] == ["training steps"]
    assert 0 < document["steps"]["train"] < 300


def test_steps_of_other_threads_are_named_in_the_summary_and_the_status(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    words = ("run", "--no-rules", "--name", "job")
    done = sonde.run(*words, *torch_python, "-c", IN_FOUR_THREADS)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.decode().splitlines() if "other thread" in line]
    subject, _, reason = line.removeprefix("sonde: Not recorded: ").partition(": ")
    assert subject == "training in other threads"
    assert "were not recorded" in reason
    assert {"what": subject, "reason": reason} in sonde.status()["not_collected"]
