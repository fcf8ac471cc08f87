"""Timeline endpoints: slices, coverage, totals, search and details."""

from typing import Any

import pytest

from sonde.errors import UsageError
from tests.fakes.job import FakeJob
from tests.web.api_client import ApiClient


def trained() -> FakeJob:
    """Record two steps of a second each, with a profile of the first."""
    job = FakeJob()
    worker = job.worker()
    worker.operation("aten::mm", "operator", 0.30, 0.10, module="body.0")
    worker.operation("aten::copy", "operator", 0.32, 0.04)
    worker.operation("cudaLaunchKernel", "runtime", 0.33, 0.001, correlation=7, module="body.0")
    gpu = {"device": "cuda:0", "lane": "stream 7"}
    worker.operation("gemm<float>", "kernel", 0.50, 0.20, correlation=7, **gpu)
    worker.operation("gemm<float>", "kernel", 0.75, 0.0001, **gpu)
    for number in range(2):
        worker.step(number, {"data_wait": 0.25, "forward": 0.75})
    worker.flush()
    job.record({"cpu.utilization_percent": [10.0, 20.0], "cpu.user_percent": [1.0, 2.0]})
    return job.end()


def tracks(frame: Any) -> dict[str, Any]:
    return {track["title"]: track for track in frame["workers"][0]["tracks"]}


def names(frame: Any, title: str) -> list[str]:
    return [frame["names"][name] for name in tracks(frame)[title]["names"]]


def test_a_window_has_every_track_in_reading_order() -> None:
    frame = ApiClient(trained()).frame("timeline", start=0, end=2, px=200)
    assert list(tracks(frame)) == ["steps", "phases", "thread 1", "cuda:0 stream 7"]
    assert names(frame, "steps") == ["step 0", "step 1"]
    assert names(frame, "phases") == ["data_wait", "forward", "data_wait", "forward"]
    phases = tracks(frame)["phases"]
    assert phases["starts"] == pytest.approx([0, 0.25, 1, 1.25])
    assert phases["seconds"] == pytest.approx([0.25, 0.75, 0.25, 0.75])


def test_nested_slices_are_in_the_lane_below() -> None:
    frame = ApiClient(trained()).frame("timeline", start=0.3, end=0.4, px=1000)
    thread = tracks(frame)["thread 1"]
    assert names(frame, "thread 1") == ["aten::mm", "aten::copy", "cudaLaunchKernel"]
    assert thread["lanes"] == [0, 1, 2]
    assert thread["lanes_count"] == 3


def test_slices_narrower_than_a_column_become_coverage() -> None:
    frame = ApiClient(trained()).frame("timeline", start=0, end=2, px=200)
    kernels = tracks(frame)["cuda:0 stream 7"]
    assert names(frame, "cuda:0 stream 7") == ["gemm<float>"]
    assert kernels["narrow"] == 1
    covered = kernels["covered"]
    assert covered[75] == pytest.approx(250 * 0.01, abs=1)
    assert sum(covered) == covered[75]


def test_system_counters_use_the_clock_of_the_timeline() -> None:
    frame = ApiClient(trained()).frame("timeline", px=200)
    [counter] = frame["counters"]
    assert (counter["metric"], counter["unit"]) == ("cpu.utilization_percent", "percent")
    assert counter["starts"][0] == pytest.approx(2.0)
    assert counter["mean"] == [10.0, 20.0]


def test_a_window_between_two_samples_has_both() -> None:
    job = FakeJob().record({"cpu.utilization_percent": [10.0, 20.0, 30.0, 40.0]}).end()
    [counter] = ApiClient(job).frame("timeline", start=0.6, end=0.9)["counters"]
    assert {20.0, 30.0} <= set(counter["mean"])


def test_a_job_without_training_still_has_system_counters() -> None:
    job = FakeJob().record({"cpu.utilization_percent": [10.0, 20.0]}).end()
    frame = ApiClient(job).frame("timeline")
    assert frame["workers"] == []
    assert [counter["mean"] for counter in frame["counters"]] == [[10.0, 20.0]]


def test_profiler_windows_are_listed_even_if_short() -> None:
    job = FakeJob()
    worker = job.worker()
    worker.span("operators", 1.0, 0.001, 3, "window").step(0, {"forward": 900.0}).flush()
    [window] = ApiClient(job.end()).frame("timeline", px=10)["windows"]
    assert (window["kind"], window["step"], window["start"]) == ("operators", 3, 1.0)
    assert window["end"] == pytest.approx(1.001)


def test_sums_are_exact_and_cut_at_the_range() -> None:
    document = ApiClient(trained()).document("timeline/totals", start=0.1, end=1.1)
    rows = {(row["track"], row["name"]): row for row in document["rows"]}
    wait = rows["phases", "data_wait"]
    assert wait["count"] == 2
    assert wait["seconds"] == pytest.approx(0.25)
    assert wait["longest_seconds"] == pytest.approx(0.25)
    assert rows["cuda:0 stream 7", "gemm<float>"]["seconds"] == pytest.approx(0.2001)
    assert rows["thread 1", "aten::mm"]["seconds"] == pytest.approx(0.1)
    assert rows["thread 1", "aten::mm"]["self_seconds"] == pytest.approx(0.06)
    of_phases = ApiClient(trained()).document("timeline/totals", start=0, end=2, track="phases")
    assert [row["name"] for row in of_phases["rows"]] == ["forward", "data_wait"]


def test_a_search_finds_every_slice_with_the_text_in_its_name() -> None:
    document = ApiClient(trained()).document("timeline/search", text="GEMM")
    assert document["total"] == 2
    assert [round(hit["start"], 4) for hit in document["hits"]] == [0.5, 0.75]
    assert document["hits"][0]["track"] == "cuda:0 stream 7"
    assert ApiClient(trained()).document("timeline/search", text="nowhere")["total"] == 0


def test_a_kernel_has_its_launching_call_and_delay() -> None:
    kernel = ApiClient(trained()).document(
        "timeline/slice", worker=0, track="cuda:0 stream 7", lane=0, at=0.6
    )
    assert kernel["name"] == "gemm<float>"
    assert kernel["launched_by"] == "cudaLaunchKernel"
    assert kernel["launch_seconds"] == pytest.approx(0.17)
    assert (kernel["module"], kernel["phase"], kernel["step"]) == ("body.0", "forward", 0)
    assert kernel["seconds"] == pytest.approx(0.2)
    assert kernel["device"] == "cuda:0"


def test_a_kernel_is_matched_with_the_launch_of_its_own_attempt() -> None:
    job = FakeJob()
    for attempt, at in ((1, 0.0), (2, 10.0)):
        worker = job.worker(attempt=attempt)
        worker.operation(f"call {attempt}", "runtime", at + 0.1, 0.01, correlation=7)
        gpu = {"device": "cuda:0", "lane": "stream 7"}
        worker.operation("gemm", "kernel", at + 0.2, 0.1, correlation=7, **gpu)
        worker.flush()
    client = ApiClient(job)
    for attempt, at in ((1, 0.25), (2, 10.25)):
        query = {"worker": 0, "track": "cuda:0 stream 7", "lane": 0, "at": at}
        kernel = client.document("timeline/slice", **query)
        assert kernel["launched_by"] == f"call {attempt}"
        assert kernel["launch_seconds"] == pytest.approx(0.1)


def test_invalid_timeline_queries_are_refused() -> None:
    client = ApiClient(trained())
    with pytest.raises(UsageError, match="Track 'steps' has no slice in lane 0 at second 9"):
        client.document("timeline/slice", track="steps", lane=0, at=9)
    with pytest.raises(UsageError, match="no worker '8'"):
        client.frame("timeline", workers="0,8")
    with pytest.raises(UsageError, match="end must be later than start"):
        client.frame("timeline", start=3, end=2)


def test_the_timeline_of_a_running_job_is_refreshed_after_a_while() -> None:
    job = FakeJob()
    worker = job.worker()
    worker.step(0, {"forward": 1.0}).flush()
    client = ApiClient(job)
    assert names(client.frame("timeline", start=0, end=5), "steps") == ["step 0"]
    worker.step(1, {"forward": 1.0}).flush()
    assert names(client.frame("timeline", start=0, end=5), "steps") == ["step 0"]
    job.clock.advance(2.5)
    assert names(client.frame("timeline", start=0, end=5), "steps") == ["step 0", "step 1"]


def test_workers_are_listed_in_the_requested_order() -> None:
    job = FakeJob()
    for rank in range(3):
        job.worker(rank, world_size=3).span("forward", 0, 1).flush()
    job.clock.advance(1)
    client = ApiClient(job.end())
    assert [worker["worker"] for worker in client.frame("timeline")["workers"]] == [0, 1, 2]
    assert [worker["worker"] for worker in client.frame("timeline", workers="2,0")["workers"]] == [
        2,
        0,
    ]
