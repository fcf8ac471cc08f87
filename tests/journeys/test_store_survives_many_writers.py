"""Several jobs in a store and several nodes in a job, with concurrent readers."""

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import sonde as library
from sonde.read.new_samples import NewSampleReader
from sonde.store.backends import open_backend
from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import PYTHON, Sonde, plain_environment

# Flushes on request; samples have times of the clock that all processes share.
WRITE_ON_REQUEST = """
import sys, time
from sonde.clock import SystemClock
from sonde.records.metric import MetricInfo, Series
from sonde.store.backends import open_backend
from sonde.store.writer import Writer
writer = Writer(open_backend(sys.argv[1]), "nodes/a", SystemClock())
writer.outbox.start()
series = (Series(MetricInfo("cpu", "", "")),)
for line in sys.stdin:
    writer.add_sample(time.monotonic_ns(), series, [float(line)])
    writer.flush()
"""

WAIT = "import pathlib, time\nwhile not pathlib.Path('end').exists(): time.sleep(0.05)"


def test_a_reader_in_another_process_sees_a_sample_within_a_second_of_its_flush(
    tmp_path: Path,
) -> None:
    backend = open_backend(str(tmp_path))
    follower = NewSampleReader(backend, "a")
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITE_ON_REQUEST, str(tmp_path)],
        stdin=subprocess.PIPE,
        env=plain_environment(),
        text=True,
    )
    assert writer.stdin is not None
    lags_seconds: list[float] = []

    def has_news() -> bool:
        time_ns = time.monotonic_ns()
        result = [news.times_ns[-1] for news in follower.poll()]
        lags_seconds.extend((time_ns - int(sample_ns)) / 1e9 for sample_ns in result)
        return bool(result)

    for number in range(10):
        writer.stdin.write(f"{number}\n")
        writer.stdin.flush()
        assert eventually(has_news)
    writer.stdin.close()
    writer.wait()

    assert len(lags_seconds) == 10
    assert median(lags_seconds) + backend.poll_seconds < 1


def test_two_jobs_record_in_the_same_store_at_once(sonde: Sonde) -> None:
    launchers = [
        sonde.start("run", "--name", name, "--interval", "100ms", PYTHON, "-c", WAIT)
        for name in ("first", "second")
    ]
    assert eventually(lambda: all(map(sonde.runs, ("first", "second"))))

    (sonde.folder / "end").touch()

    assert [launcher.wait(120) for launcher in launchers] == [0, 0]
    jobs = library.list_jobs(str(sonde.folder / "sonde-jobs"))
    assert {job.name for job in jobs} == {"first", "second"}
    for job in jobs:
        assert job.state.value == "completed"
        assert job.summary["lost"] == []
        assert job.system("cpu.*").to_arrow().num_rows > 0


def test_two_nodes_write_to_the_same_job_at_once(sonde: Sonde) -> None:
    launchers = [
        sonde.start(
            *("run", "--name", "job", "--node", node, "--interval", "100ms"),
            *(PYTHON, "-c", WAIT),
        )
        for node in ("node-a", "node-b")
    ]
    assert eventually(lambda: sonde.runs() and len(sonde.status()["nodes"]) == 2)

    (sonde.folder / "end").touch()

    assert [launcher.wait(120) for launcher in launchers] == [0, 0]
    job = library.open_job(str(sonde.job_folder("job")))
    assert job.state.value == "completed"
    assert job.nodes == ("node-a", "node-b")
    assert set(job.system("memory.*").to_arrow()["node"].to_pylist()) == {"node-a", "node-b"}
    assert job.summary["lost"] == []


def test_a_reader_of_a_running_job_sees_every_sample_once_through_sealing(
    sonde: Sonde,
) -> None:
    launcher = sonde.start("run", "--name", "job", "--interval", "100ms", PYTHON, "-c", WAIT)
    assert eventually(sonde.runs)
    backend = open_backend(str(sonde.job_folder("job")))
    follower = NewSampleReader(backend, os.uname().nodename)
    observed: list[int] = []

    def follow() -> int:
        observed.extend(int(time_ns) for news in follower.poll() for time_ns in news.times_ns)
        return len(observed)

    assert eventually(lambda: follow() > 10)
    (sonde.folder / "end").touch()
    assert eventually(lambda: follow() and launcher.poll() is not None)
    follow()
    assert sonde.run("compact", "job").returncode == 0
    follow()

    times, _ = sonde.samples("cpu.*")
    assert len(observed) == len(set(observed))
    assert observed == sorted(observed)
    assert len(observed) >= len(times)
