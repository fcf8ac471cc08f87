"""Jobs started by a script or an interactive prompt, in real processes."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sonde.client.job import open_job
from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import PYTHON, STORE, Sonde, plain_environment

LOOP = """
for number in range(3):
    sonde.log(loss=1 / (number + 1))
    sonde.step()
"""
CHEAP = "[rules]\nlive = false\n[report]\nat_end = false\n"  # each would take a second
BEGIN = "import sys, sonde\nsonde.start(name='job', quiet=True)\n"


def run(
    folder: Path, code: str, *words: str, env: Mapping[str, str] | None = None, text: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run a script without `sonde run`."""
    (folder / "script.py").write_text(code)
    is_begun = "sonde.start" in code and "SONDE_DISABLE" not in (env or {})
    if is_begun and not (folder / "sonde.toml").exists():
        (folder / "sonde.toml").write_text(CHEAP)
    return subprocess.run(
        [PYTHON, *(words or ("script.py",))],
        cwd=folder,
        env={**plain_environment(), **(env or {})},
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def losses(sonde: Sonde, job: str = "job") -> list[tuple[int, float]]:
    rows = open_job(str(sonde.job_folder(job))).scalars("loss").to_arrow().to_pylist()
    return [(row["step"], round(row["value"], 3)) for row in rows]


def test_a_script_records_itself(sonde: Sonde) -> None:
    done = run(sonde.folder, f"import sonde\nsonde.start(name='job')\n{LOOP}")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "sonde: recording job in sonde-jobs\n"
    status = sonde.status()
    assert (status["state"], status["exit"]["code"]) == ("completed", 0)
    assert status["steps"] == {"train": 3}
    assert losses(sonde) == [(0, 1.0), (1, 0.5), (2, 0.333)]
    assert sonde.samples("memory.used_bytes")[1]


def test_without_a_name_the_job_is_named_after_the_script(sonde: Sonde) -> None:
    run(sonde.folder, f"import sonde\nsonde.start()\n{LOOP}")
    [job] = [path.name for path in (sonde.folder / STORE).iterdir() if path.is_dir()]
    assert job.startswith("script-2")


@pytest.mark.parametrize("text", ["", "import sonde\n"])
def test_nothing_is_recorded_if_not_started_or_disabled(sonde: Sonde, text: str) -> None:
    start = "" if text else "sonde.start(name='job')\n"
    done = run(
        sonde.folder,
        f"import sonde\n{start}{LOOP}sonde.stop()\nwith sonde.phase('p'), sonde.mode('eval'): pass",
        env={} if text else {"SONDE_DISABLE": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in sonde.folder.iterdir()] == ["script.py"]


@pytest.mark.parametrize(
    ("last", "code", "state", "message"),
    [
        ("raise ValueError('broken')", 1, "failed", "ValueError: broken"),
        ("sys.exit(3)", 3, "failed", "exit code 3"),
        ("def main(): sys.exit(0)\nmain()", 0, "completed", None),
        ("try: sys.exit(3)\nexcept SystemExit: pass\nprint()", 0, "completed", None),
        ("sonde.stop()\nsys.exit(3)", 3, "completed", "ended by sonde.stop()"),
    ],
)
def test_the_end_of_the_script_is_the_end_of_the_job(
    sonde: Sonde, last: str, code: int, state: str, message: str | None
) -> None:
    done = run(sonde.folder, f"{BEGIN}{LOOP}{last}")
    assert done.returncode == code
    status = sonde.status()
    assert (status["state"], status["exit"]["message"]) == (state, message)
    has_trace = "ValueError" in last
    assert ("script.py" in (status["exit"]["traceback"] or "")) is has_trace
    assert ("Traceback" in done.stderr) is has_trace


def test_a_process_can_record_several_jobs_in_turn(sonde: Sonde) -> None:
    repeated = "sonde.stop()\nsonde.start(name='second', quiet=True)\n"
    done = run(sonde.folder, f"{BEGIN}{LOOP}{repeated}sonde.log(loss=7)\nsonde.stop()\n{LOOP}")
    assert (done.returncode, done.stderr) == (0, "")
    assert losses(sonde) == [(0, 1.0), (1, 0.5), (2, 0.333)]
    assert losses(sonde, "second") == [(0, 7.0)]
    assert [sonde.state(job) for job in ("job", "second")] == ["completed", "completed"]


def test_a_name_in_use_does_not_end_the_training(sonde: Sonde) -> None:
    run(sonde.folder, BEGIN + LOOP)
    done = run(sonde.folder, f"{BEGIN}{LOOP}print('trained')")
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert "Job 'job' already exists" in done.stderr
    jobs = sorted(path.name for path in (sonde.folder / STORE).iterdir() if path.is_dir())
    assert len(jobs) == 2
    assert jobs[1].startswith("job-2")


def test_a_job_can_be_resumed(sonde: Sonde) -> None:
    run(sonde.folder, BEGIN + LOOP)
    code = f"import sonde\nsonde.start(name='job', resume=True, quiet=True)\n{LOOP}"
    assert run(sonde.folder, code).stderr == ""
    assert sonde.status()["attempts"] == 2


def test_a_store_that_cannot_be_written_does_not_end_the_training(sonde: Sonde) -> None:
    (sonde.folder / "file").touch()
    code = f"import sonde\nsonde.start(store='file/store')\n{LOOP}print('trained')"
    done = run(sonde.folder, code)
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert "Not recording." in done.stderr


def test_invalid_settings_are_an_error_at_once(sonde: Sonde) -> None:
    done = run(sonde.folder, "import sonde\nsonde.start(save='gradient:every=10')")
    assert done.returncode == 1
    assert "gradient is not a built-in collection" in done.stderr


def test_models_created_before_the_start_are_found(sonde: Sonde) -> None:
    code = """
import torch, sonde
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
sonde.start(name='job', quiet=True)
for _ in range(3):
    loss = model(torch.ones(2, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    sonde.log(own=loss)
"""
    done = run(sonde.folder, code)
    assert (done.returncode, done.stderr) == (0, "")
    job = open_job(str(sonde.job_folder("job")))
    assert job.summary["steps"] == {"train": 3}
    rows = job.scalars("*").to_arrow().to_pylist()
    by_name = {
        name: [(row["step"], row["value"]) for row in rows if row["name"] == name]
        for name in ("loss", "own")
    }
    assert len(by_name["loss"]) == 3
    assert by_name["loss"] == by_name["own"]


def test_errors_at_a_prompt_do_not_end_the_job(sonde: Sonde) -> None:
    lines = "\n".join(
        (
            "import sonde",
            "sonde.load_ipython_extension(None)",
            "sonde.log(loss=1)",
            "1 / 0",
            "sonde.log(loss=2)",
        )
    )
    done = run(sonde.folder, "", "-i", "-q", text=f"{lines}\n")
    assert "ZeroDivisionError" in done.stderr
    [job] = [path.name for path in (sonde.folder / STORE).iterdir() if path.is_dir()]
    assert job.startswith("python")
    assert sonde.state(job) == "completed"
    assert [value for _, value in losses(sonde, job)] == [1.0, 2.0]


def test_child_processes_are_workers_of_the_job(sonde: Sonde) -> None:
    child = "import sonde; sonde.log(loss=5); sonde.step()"
    code = f"{BEGIN}{LOOP}import subprocess\nsubprocess.run([sys.executable, '-c', {child!r}])"
    done = run(sonde.folder, code)
    assert (done.returncode, done.stderr) == (0, "")
    assert sonde.status()["workers"] == 2
    assert losses(sonde).count((0, 5.0)) == 1


def test_a_forked_child_does_not_end_the_job(sonde: Sonde) -> None:
    code = f"{BEGIN}import os\nif os.fork() == 0: sys.exit(4)\nos.wait()\n{LOOP}"
    done = run(sonde.folder, code)
    assert (done.returncode, sonde.state()) == (0, "completed")
    assert sonde.status()["steps"] == {"train": 3}


def test_a_job_started_by_a_script_can_be_stopped_on_request(sonde: Sonde) -> None:
    code = f"{BEGIN}{LOOP}import time\ntime.sleep(600)"
    (sonde.folder / "script.py").write_text(code)
    process = subprocess.Popen(
        [PYTHON, "script.py"], cwd=sonde.folder, env=plain_environment(), stdin=subprocess.DEVNULL
    )
    assert eventually(sonde.runs)
    assert sonde.run("stop", "job").returncode == 0
    assert process.wait(120) == -15
    assert sonde.state() == "stopped"


def test_inside_sonde_run_start_only_adds_collections(sonde: Sonde) -> None:
    code = """
import json, sonde
from sonde.hook.session import Session
sonde.start(name='other', store='elsewhere', save=['gradients:every=7', 'mine:include=x'])
sonde.log(loss=1)
print(json.dumps({item.name: item.schedules['train'].every
                  for item in Session.of_process().settings.collections}))
"""
    (sonde.folder / "script.py").write_text(code)
    words = ("run", "--quiet", "--name", "job", "--save", "gradients:every=3")
    done = sonde.run(*words, "--", PYTHON, "script.py")
    assert json.loads(done.stdout) == {"gradients": 3, "mine": 1}
    assert [path.name for path in (sonde.folder / STORE).iterdir() if path.is_dir()] == ["job"]
    assert losses(sonde) == [(0, 1.0)]


def test_after_a_stop_inside_sonde_run_recording_can_start_again(sonde: Sonde) -> None:
    (sonde.folder / "script.py").write_text(
        f"import sonde\n{LOOP}sonde.stop()\nsonde.log(loss=9)\nsonde.start()\nsonde.log(loss=8)"
    )
    done = sonde.run("run", "--quiet", "--name", "job", "--", PYTHON, "script.py")
    assert (done.returncode, done.stderr) == (0, b"")
    values: list[Any] = [value for _, value in losses(sonde)]
    assert 8.0 in values
    assert 9.0 not in values
