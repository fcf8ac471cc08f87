"""The flame graph endpoint and downloads for other tools."""

import json
from typing import Any

import pytest

from sonde.errors import UsageError
from tests.fakes.job import FakeJob
from tests.fakes.python_profile import FakeProfile
from tests.web.api_client import ApiClient

MAIN = ("main", "/home/user/train.py", 3)
MODEL = ("forward", "/home/user/model.py", 8)
LOAD = ("load", "/home/user/data.py", 5)


def profiled() -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    profile = FakeProfile(worker)
    for step in range(2):
        profile.add_samples((MAIN, LOAD), 2 + 20 * step).add_samples((MAIN, MODEL), 4)
        worker.step(step, {"data_wait": 0.002 + 0.020 * step, "forward": 0.004})
    profile.write()
    worker.flush()
    return job.end()


def call_tree(frame: Any) -> list[tuple[str, float]]:
    names = [frame["functions"][value][0] for value in frame["frames"]]
    return list(zip(names, [round(value, 4) for value in frame["total"]], strict=True))


def test_the_tree_has_every_call_with_its_time() -> None:
    frame = ApiClient(profiled()).frame("flame")
    assert call_tree(frame) == [("main", 0.032), ("load", 0.024), ("forward", 0.008)]
    assert frame["parents"] == [4_294_967_295, 0, 0]
    assert frame["counted"] == "looks"
    assert frame["choices"]["steps"] == [0, 1]
    assert frame["table"][0]["name"] == "load"
    assert frame["table"][0]["where"] == "/home/user/data.py:5"


def test_a_range_of_steps_and_a_phase_can_be_chosen() -> None:
    client = ApiClient(profiled())
    first = client.frame("flame", first_step=0, last_step=0)
    assert call_tree(first) == [("main", 0.006), ("forward", 0.004), ("load", 0.002)]
    waiting = client.frame("flame", phase="data_wait", first_step=1)
    assert call_tree(waiting) == [("main", 0.022), ("load", 0.022)]
    assert call_tree(client.frame("flame", mode="eval")) == []


def test_a_job_without_profiles_has_an_empty_tree() -> None:
    job = FakeJob()
    job.worker().step(0, {"forward": 1.0}).flush()
    frame = ApiClient(job).frame("flame")
    assert (frame["frames"], frame["windows"], frame["profiler"]) == ([], [], "")
    with pytest.raises(UsageError, match="sonde profile job --kinds python"):
        ApiClient(job).reply("export", format="speedscope")


def test_a_trace_for_perfetto_is_a_download() -> None:
    reply = ApiClient(profiled()).reply("export", format="chrome-trace")
    assert reply.headers["Content-Disposition"] == 'attachment; filename="job.trace.json"'
    events = json.loads(reply.body)["traceEvents"]
    assert {"step 0", "step 1", "forward"} <= {event["name"] for event in events}


def test_a_time_range_of_the_trace_can_be_downloaded() -> None:
    reply = ApiClient(profiled()).reply("export", format="chrome-trace", start=0.007, end=0.020)
    names = {event["name"] for event in json.loads(reply.body)["traceEvents"]}
    assert "step 1" in names
    assert "step 0" not in names


def test_profiles_of_python_go_to_speedscope_and_samples_to_a_table() -> None:
    client = ApiClient(profiled().record({"cpu.utilization_percent": [50.0]}))
    profiles = json.loads(client.reply("export", format="speedscope").body)["profiles"]
    assert [profile["type"] for profile in profiles] == ["sampled"]
    table = client.reply("export", format="csv").body.decode()
    assert "cpu.utilization_percent" in table.splitlines()[0]


def test_a_download_that_is_too_large_is_refused_with_an_alternative(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sonde.web.answers.export._MAX_VALUES", 10)
    client = ApiClient(profiled().record({"cpu.utilization_percent": [50.0] * 20}))
    with pytest.raises(UsageError, match="sonde export job --format csv"):
        client.reply("export", format="csv")
    assert client.reply("export", format="csv", start=0, end=2).body


def test_a_trace_with_too_many_slices_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.web.answers.export._MAX_VALUES", 10)
    job = FakeJob()
    worker = job.worker()
    for step in range(20):
        worker.step(step, {"forward": 1.0})
    worker.flush()
    with pytest.raises(UsageError, match="sonde export job --format chrome-trace"):
        ApiClient(job).reply("export", format="chrome-trace")
    assert ApiClient(job).reply("export", format="chrome-trace", start=0, end=2).body
