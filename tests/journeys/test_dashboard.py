"""The dashboard as a process: it serves a store and controls jobs."""

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any

import httpx

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import COMMAND, Sonde
from tests.journeys.terminal import Terminal

OURS = {"X-Sonde": "1"}
POLITE = "trap 'exit 9' TERM; touch ready; while :; do sleep 0.05; done"


def address_in(stream: IO[bytes] | None) -> str:
    """Return the first printed address."""
    assert stream is not None
    for line in stream:
        result = re.search(rb"http://\S+", line)
        if result:
            return result[0].decode()
    raise AssertionError("no address was printed")


def client_of(address: str) -> httpx.Client:
    """Return a client with the token of a printed link."""
    base, _, token = address.partition("?token=")
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=base, headers=headers, trust_env=False, timeout=60)


def dashboards(sonde: Sonde) -> list[int]:
    """Return the processes of dashboards of jobs in this folder."""
    pids = []
    for pid in sonde.processes():
        with contextlib.suppress(OSError):
            pids += [pid] * (b"--inherited-socket" in Path(f"/proc/{pid}/cmdline").read_bytes())
    return pids


def live_events(client: httpx.Client, job: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and data of live events."""
    with client.stream("GET", f"/api/jobs/{job}/events") as stream:
        kind = ""
        for line in stream.iter_lines():
            name, _, value = line.partition(": ")
            kind = value if name == "event" else kind
            if name == "data":
                yield kind, value


def answer_of(client: httpx.Client, sent: httpx.Response) -> dict[str, Any]:
    """Return the reply of the job to a request."""
    assert sent.status_code == 202, sent.text
    path = f"/api/jobs/job/requests/{sent.json()['request']}"
    assert eventually(lambda: client.get(path).json()["replies"])
    (reply,) = client.get(path).json()["replies"].values()
    result: dict[str, Any] = reply
    return result


def test_a_running_job_is_shown_changed_and_stopped_from_the_dashboard(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "sh", "-c", POLITE)
    assert eventually(sonde.runs)
    server = sonde.start("ui", "--port", "0", stdout=PIPE)
    with client_of(address_in(server.stdout)) as client:
        assert client.get("/").text.startswith("<!doctype html>")
        (row,) = client.get("/api/jobs").json()["jobs"]
        assert (row["name"], row["state"]) == ("job", "running")
        sent = client.post("/api/jobs/job/set", json={"interval_seconds": 0.1}, headers=OURS)
        assert answer_of(client, sent)["done"] is True
        events = live_events(client, "job")
        assert eventually(lambda: next(events)[0] == "samples")
        sent = client.post("/api/jobs/job/stop", json={}, headers=OURS)
        assert answer_of(client, sent)["message"].startswith("SIGTERM sent")
        assert launcher.wait(120) == 9
        assert eventually(lambda: '"state": "stopped"' in next(events)[1])
    assert sonde.status()["exit"]["message"] == "stopped by the dashboard"
    server.send_signal(signal.SIGINT)
    assert server.wait(60) == 0


def test_the_dashboard_of_a_job_stays_open_on_a_terminal_but_ends_with_its_launcher(
    sonde: Sonde, terminal: Terminal
) -> None:
    quick = ("--no-rules", "--no-report", "--ui")
    process = terminal.start([*COMMAND, "run", *quick, "--name", "ended", "sh", "-c", "exit 3"])
    terminal.expect("until Ctrl-C")
    assert len(dashboards(sonde)) == 1
    terminal.type("\x03")
    assert process.wait(60) == 3
    assert dashboards(sonde) == []
    assert sonde.run("run", "--ui", "--name", "piped", "true").returncode == 0
    assert dashboards(sonde) == []
    launcher = sonde.start("run", "--ui", "--name", "killed", "sh", "-c", POLITE, stderr=PIPE)
    with client_of(address_in(launcher.stderr)) as client:
        assert eventually(lambda: sonde.runs("killed"))
        states = {job["name"]: job["state"] for job in client.get("/api/jobs").json()["jobs"]}
    assert states == {"ended": "failed", "piped": "completed", "killed": "running"}
    os.kill(launcher.pid, signal.SIGKILL)
    launcher.wait(60)
    assert eventually(lambda: not dashboards(sonde))
