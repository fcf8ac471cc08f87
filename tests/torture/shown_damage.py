"""Probe: damage in the report, the timeline and every reply of the dashboard.

As in `damage.py`, an answer must equal that of the intact job, or the damage must be reported.
No reply may have status 500. In addition to the synthetic job of the other probe, a job with
tensors from a real `sonde run` is damaged.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

from sonde.client.job import Job
from sonde.client.reports import report_of
from sonde.store.backends import open_backend
from sonde.web.answers import ENDPOINTS
from tests.fakes.clock import FakeClock
from tests.journeys.sonde_cli import plain_environment
from tests.torture.damage import GRADIENT, Intact, query_all
from tests.torture.damage_probe import damaged
from tests.torture.probe import Outcome
from tests.web.served import served

_REFUSED = 503  # with a message that names the damaged file
_LONG_SECONDS = 60.0  # with less time, no real job is recorded
_TRAINING = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(40):
    optimizer.zero_grad()
    inputs = torch.randn(16, 4)
    torch.nn.functional.cross_entropy(model(inputs), (inputs.sum(1) > 0).long()).backward()
    optimizer.step()
"""
_SAVED = "all:every=4,values,histogram"
# fields about the reply (its time, duration and build), not about the recording
_PASSING = re.compile(rb'"(?:seconds|written|etag|version|cost_seconds)": ?[^,}]*')
# required parameters of routes
_QUERIES: Mapping[str, str] = {
    "series": "?keys=cpu.user_percent&px=100",
    "scalars": "?names=loss",
    "tensors/histograms": f"?name={GRADIENT}",
    "tensors/statistics": f"?names={GRADIENT}",
    "tensors/value": f"?name={GRADIENT}&step=3",
    "timeline/search": "?text=mm",
    "timeline/slice": "?track=thread 1&lane=0&at=23.6",
}

Lost = list[dict[str, Any]]


@cache
def routes() -> tuple[str, ...]:
    """Return the routes that read a job; the job itself comes last, after all other data."""
    paths = sorted(
        endpoint.path.removeprefix("/jobs/{job}").removeprefix("/")
        for name in ENDPOINTS.names()
        for endpoint in ENDPOINTS.load(name)().endpoints()
        if endpoint.method == "GET" and endpoint.path.startswith("/jobs/{job}")
    )
    return (*(path for path in paths if path and "{" not in path), "")


def query_dashboard(folder: Path, clock: FakeClock) -> tuple[dict[str, Any], Lost]:
    """Return the reply of every route; raise on server errors."""
    client = served(str(folder.parent), clock)
    answers: dict[str, Any] = {}
    for route in routes():
        reply = client.get(f"/api/jobs/{folder.name}/{route}".rstrip("/") + _QUERIES.get(route, ""))
        if reply.status_code >= 500 and reply.status_code != _REFUSED:
            raise RuntimeError(f"{route}: status {reply.status_code}: {reply.text[:300]}")
        answers[route] = (reply.status_code, _PASSING.sub(b"", reply.content))
    _, answers[""] = answers[""]
    listed = [row for row in client.get("/api/jobs").json()["jobs"] if row["name"] == folder.name]
    if not listed:
        raise RuntimeError("the job is not in the list")
    return answers, _lost(client.get(f"/api/jobs/{folder.name}").json())


def _lost(document: Any) -> Lost:
    """Return the losses in a reply, or the error of an unreadable job."""
    if "error" in document:
        return [{"what": document["error"], "reason": "damaged"}]
    lost: Lost = document["lost"] if "lost" in document else document["summary"]["lost"]
    return lost


def query_report(folder: Path, clock: FakeClock) -> tuple[dict[str, Any], Lost]:
    """Return the data of the report and the timeline; a failing report counts as a crash."""

    def report(job: Job) -> Any:
        page = report_of(open_backend(str(folder)), clock)
        assert page.html.startswith("<!doctype html>"), page.html[:100]
        if page.document["failed"]:
            raise RuntimeError(f"charts failed: {page.document['failed']}")
        return page.document

    def timeline(job: Job) -> Any:
        return job.timeline().to_arrow().to_pylist()

    return query_all(folder, clock, {"report": report, "timeline": timeline})


def record_real_job(folder: Path) -> FakeClock:
    """Record a real training with tensors, using `sonde run`."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    script = folder.parent / "train.py"
    script.write_text(_TRAINING)
    words = ("run", "--quiet", "--no-report", "--store", str(folder.parent), "--name", folder.name)
    subprocess.run(
        [sys.executable, "-m", "sonde", *words, "--save", _SAVED, sys.executable, str(script)],
        cwd=folder.parent,
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=True,
    )
    return FakeClock(time.time_ns())


def _copied(folder: str, clock: FakeClock) -> Callable[[Path], FakeClock]:
    def copy(job: Path) -> FakeClock:
        shutil.copytree(Path(folder, "recorded", "job"), job)
        return FakeClock(clock.now_ns())

    return copy


class ShownDamage:
    """Queries reports, timelines and routes of damaged jobs, in turn."""

    name = "shown-damage"

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per damage."""
        with tempfile.TemporaryDirectory(prefix="sonde-torture-") as folder:
            jobs = [
                Intact(Path(folder, "web"), is_sealed=True, query=query_dashboard),
                Intact(Path(folder, "report"), query=query_report),
            ]
            if deadline - monotonic() > _LONG_SECONDS:
                clock = record_real_job(Path(folder, "recorded", "job"))
                jobs += [
                    Intact(
                        Path(folder, f"real-{number}"), record=_copied(folder, clock), query=query
                    )
                    for number, query in enumerate((query_dashboard, query_report, query_all))
                ]
            streams = [damaged(job, seed, deadline) for job in jobs]
            while streams:
                for stream in list(streams):
                    outcome = next(stream, None)
                    if outcome is None:
                        streams.remove(stream)
                    else:
                        yield outcome


PROBES = (ShownDamage(),)
