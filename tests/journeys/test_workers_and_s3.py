"""Workers that cannot reach an object store write to a folder, which the launcher sends."""

import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.client.job import open_job
from sonde.store.backends import open_backend
from tests.fakes.eventually import eventually
from tests.fakes.flaky_proxy import FlakyProxy
from tests.fakes.s3 import s3_server, use_s3_server
from tests.journeys.sonde_cli import Sonde

BUCKET = "sonde-workers"


@pytest.fixture(scope="module")
def server_port() -> Iterator[int]:
    with s3_server(BUCKET) as port:
        yield port


@pytest.fixture
def proxy(server_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[FlakyProxy]:
    with FlakyProxy(server_port) as flaky:
        use_s3_server(flaky.port, monkeypatch)
        yield flaky


@pytest.fixture
def python(tmp_path: Path) -> str:
    """A Python without any libraries."""
    venv.create(tmp_path / "bare", with_pip=False)
    return str(tmp_path / "bare" / "bin" / "python")


def folders_of_relays(temporary: Path) -> list[Path]:
    return list(temporary.glob("sonde-workers-*"))


def test_the_failure_of_a_bare_python_reaches_the_store(
    sonde: Sonde, proxy: FlakyProxy, python: str, tmp_path: Path
) -> None:
    store, temporary = f"s3://{BUCKET}/arrives", tmp_path / "temporary"
    temporary.mkdir()
    done = sonde.run(
        *("run", "--store", store, "--name", "job", python, "-c", "raise ValueError('no data')"),
        env={"TMPDIR": str(temporary), "RANK": "3"},
    )
    assert done.returncode == 1
    exit_ = open_job(f"{store}/job").summary["exit"]
    assert (exit_["message"], exit_["worker"]) == ("ValueError: no data", 3)
    backend = open_backend(f"{store}/job")
    assert b"no data" in backend.read("workers/3/attempt-001.0/failure.json")
    assert folders_of_relays(temporary) == []


def test_data_that_does_not_arrive_in_time_is_retained_and_reported(
    sonde: Sonde, proxy: FlakyProxy, python: str, tmp_path: Path
) -> None:
    store, temporary = f"s3://{BUCKET}/outage", tmp_path / "temporary"
    temporary.mkdir()
    script = (
        "import pathlib, time\npathlib.Path('ready').touch()\n"
        "while not pathlib.Path('end').exists(): time.sleep(.05)\n1/0"
    )
    launcher = sonde.start(
        *("run", "--store", store, "--name", "job", python, "-c", script),
        env={"TMPDIR": str(temporary), "RANK": "0"},
        stderr=subprocess.PIPE,
    )
    assert eventually((sonde.folder / "ready").exists)
    proxy.refuse()
    (sonde.folder / "end").touch()
    assert launcher.wait(120) == 1
    assert launcher.stderr is not None
    (remaining,) = folders_of_relays(temporary)
    assert str(remaining).encode() in launcher.stderr.read()
    assert list(remaining.rglob("failure.json"))
    proxy.recover()
    assert eventually(lambda: not folders_of_relays(temporary))
    assert (
        open_job(f"{store}/job").summary["exit"]["message"] == "ZeroDivisionError: division by zero"
    )
