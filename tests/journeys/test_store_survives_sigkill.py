"""SIGKILL at any time: only the last flush can be lost, and nothing is damaged."""

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sonde.client.job import open_job
from sonde.read.system import SystemReader
from sonde.store.backends import open_backend
from sonde.store.backends.local import Local
from tests.fakes.eventually import eventually
from tests.fakes.job import FakeJob, all_samples
from tests.journeys.sonde_cli import COMMAND, PYTHON, Sonde, plain_environment

SLACK_SECONDS = 3.0  # a sampling interval, and delays on a busy machine
JOBS = 5


def recorded(folder: Path) -> SystemReader:
    backend = open_backend(str(folder))
    return SystemReader(backend, backend.folders("nodes")[0])


def test_a_launcher_killed_at_any_time_loses_at_most_the_last_flush(sonde: Sonde) -> None:
    moments = [random.uniform(0.5, 6) for _ in range(JOBS)]
    words = ("--interval", "100ms", "--quiet", PYTHON, "-c", "input()")
    launchers = {
        f"job-{number}": sonde.start(
            "run", "--name", f"job-{number}", *words, stdin=subprocess.PIPE
        )
        for number in range(JOBS)
    }
    assert eventually(lambda: all(sonde.runs(name) for name in launchers))
    began = time.monotonic()
    killed_ns = {}
    for due, (name, launcher) in sorted(zip(moments, launchers.items(), strict=True)):
        with suppress(subprocess.TimeoutExpired):  # it must not exit by itself
            launcher.wait(max(0, began + due - time.monotonic()))
        killed_ns[name] = time.time_ns()
        os.kill(launcher.pid, signal.SIGKILL)
        launcher.wait()

    for name, instant_ns in killed_ns.items():
        job = open_job(str(sonde.job_folder(name)))
        reader = recorded(sonde.job_folder(name))
        times, _ = reader.samples(reader.series())
        assert job.state.value == "lost"
        assert job.summary["lost"] == []
        assert reader.damages == []
        start_ns = job.facts.start_ns or 0
        last_ns = times[-1] if len(times) else start_ns
        assert (instant_ns - last_ns) / 1e9 <= Local.flush_seconds + SLACK_SECONDS
        if len(times):
            assert (times[1:] > times[:-1]).all()


def test_a_lost_job_can_be_sealed_and_reads_the_same(sonde: Sonde) -> None:
    words = ("--interval", "100ms", PYTHON, "-c", "input()")
    launcher = sonde.start("run", "--name", "job", *words, stdin=subprocess.PIPE)
    assert eventually(lambda: sonde.runs() and sonde.samples("cpu.*")[0])
    os.kill(launcher.pid, signal.SIGKILL)
    launcher.wait()
    before = recorded(sonde.job_folder("job"))
    times, values = before.samples(before.series())

    assert sonde.run("compact", "job").returncode == 0

    after = recorded(sonde.job_folder("job"))
    same_times, same_values = after.samples(before.series())
    assert list(sonde.job_folder("job").rglob("*.frames")) == []
    assert same_times.tolist() == times.tolist()
    assert same_values.tobytes() == values.tobytes()


@pytest.mark.parametrize("seed", range(2))
def test_a_sealing_process_killed_at_any_time_neither_loses_nor_duplicates_data(
    tmp_path: Path, seed: int
) -> None:
    job = FakeJob(str(tmp_path / "job"))
    for number in range(40):
        job.rotate().record({"cpu": [2 * number, 2 * number + 1], "gpu/gpu0": [number] * 2})
    job.end()
    expected = all_samples(job.reader())
    moment = random.Random(seed)
    command = [*COMMAND, "compact", str(tmp_path / "job"), "--quiet"]

    for _ in range(4):
        with suppress(subprocess.TimeoutExpired):  # run() kills it at the timeout
            seconds = moment.uniform(0.25, 0.9)
            subprocess.run(command, env=plain_environment(), check=False, timeout=seconds)
        reader = job.reader()
        assert all_samples(reader) == expected
        assert reader.damages == []

    assert subprocess.run(command, env=plain_environment(), check=False).returncode == 0
    assert all_samples(job.reader()) == expected
    assert len(job.stored(".parquet")) == 2
    assert job.stored(".frames") == []
