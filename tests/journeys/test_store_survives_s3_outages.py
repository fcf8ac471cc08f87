"""Outages of the object store do not affect the command; recording waits."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from sonde.client.job import Job, open_job
from sonde.errors import SondeError
from tests.fakes.eventually import eventually
from tests.fakes.flaky_proxy import FlakyProxy
from tests.fakes.s3 import s3_server, use_s3_server
from tests.journeys.sonde_cli import PYTHON, Sonde

BUCKET = "sonde-journeys"
WAIT = """
import pathlib, sys, time
while not pathlib.Path('end').exists(): time.sleep(0.05)
sys.exit(7)
"""


@pytest.fixture(scope="module")
def server_port() -> Iterator[int]:
    with s3_server(BUCKET) as port:
        yield port


@pytest.fixture
def proxy(server_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[FlakyProxy]:
    with FlakyProxy(server_port) as flaky:
        use_s3_server(flaky.port, monkeypatch)
        yield flaky


def job_in(store: str) -> Job:
    return open_job(f"{store}/job")


def runs(store: str) -> bool:
    try:
        return job_in(store).state.value == "running"
    except SondeError:
        return False


@pytest.mark.parametrize("outage", ["refuse", "hang"])
def test_an_outage_that_ends_before_the_job_loses_nothing(
    sonde: Sonde, proxy: FlakyProxy, outage: str
) -> None:
    store = f"s3://{BUCKET}/{outage}"
    words = ("--store", store, "--name", "job", "--interval", "100ms", PYTHON, "-c", WAIT)
    launcher = sonde.start("run", *words)
    assert eventually(lambda: runs(store))

    getattr(proxy, outage)()
    began, beginning = time.monotonic(), datetime.now(UTC)
    assert eventually(lambda: time.monotonic() - began > 4)
    ending = datetime.now(UTC)
    proxy.recover()
    (sonde.folder / "end").touch()

    assert launcher.wait(120) == 7
    job = job_in(store)
    assert (job.state.value, job.summary["exit_code"]) == ("failed", 7)
    assert job.summary["lost"] == []
    samples = job.system("cpu.*").to_arrow()["time"].to_pylist()
    during = [sample for sample in samples if beginning < sample < ending]
    instants = [beginning, *during, ending]
    # of 4 s, apart from delays on a busy machine
    assert max((late - early).total_seconds() for early, late in pairwise(instants)) < 3


@pytest.mark.parametrize("outage", ["refuse", "hang"])
def test_an_outage_that_outlasts_the_job_keeps_its_exit_code_and_ends_in_time(
    sonde: Sonde, proxy: FlakyProxy, outage: str, tmp_path: Path
) -> None:
    store, temporary = f"s3://{BUCKET}/{outage}-to-the-end", tmp_path / "temporary"
    temporary.mkdir()
    words = ("run", "--store", store, "--name", "job", PYTHON, "-c", WAIT)
    launcher = sonde.start(*words, env={"TMPDIR": str(temporary)})
    assert eventually(lambda: runs(store))

    getattr(proxy, outage)()
    (sonde.folder / "end").touch()
    began = time.monotonic()

    assert launcher.wait(120) == 7
    assert time.monotonic() - began < 60
    proxy.recover()
    assert eventually(lambda: not list(temporary.iterdir()))
    job = job_in(store)
    assert (job.state.value, job.summary["exit_code"]) == ("failed", 7)
    assert job.summary["lost"] == []


def test_a_store_that_is_unavailable_at_the_start_does_not_affect_the_command(
    sonde: Sonde, proxy: FlakyProxy
) -> None:
    proxy.refuse()
    (sonde.folder / "end").touch()

    done = sonde.run("run", "--store", f"s3://{BUCKET}/x", "--name", "job", PYTHON, "-c", WAIT)

    assert done.returncode == 7
    assert b"runs without recording" in done.stderr
    proxy.recover()


def jobs_in(sonde: Sonde, store: str) -> dict[str, str]:
    """Return the state of each job listed by `sonde jobs`."""
    done = sonde.run("jobs", "--store", store, "--json")
    return {job["job"]: job["state"] for job in json.loads(done.stdout)}


def test_a_short_command_on_a_slow_store_becomes_one_complete_job(
    sonde: Sonde, proxy: FlakyProxy, tmp_path: Path
) -> None:
    store, temporary = f"s3://{BUCKET}/slow", tmp_path / "temporary"
    temporary.mkdir()
    proxy.slow_down(1.0)
    words = ("run", "--store", store, "--name", "job", PYTHON, "-c", "raise SystemExit(7)")

    done = sonde.run(*words, env={"TMPDIR": str(temporary)})

    remaining = list(temporary.iterdir())
    assert done.returncode == 7
    assert all(str(folder).encode() in done.stderr for folder in remaining)
    proxy.slow_down(0.0)
    assert eventually(lambda: not list(temporary.iterdir()))
    assert jobs_in(sonde, store) == {"job": "failed"}
    summary = job_in(store).summary
    assert (summary["exit_code"], summary["lost"]) == (7, [])
