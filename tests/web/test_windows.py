"""Windows of series, heat maps, spans and steps."""

import numpy as np
import pytest

from sonde.clock import NANOSECONDS
from tests.fakes.job import FakeJob
from tests.fakes.stores import Shape, fleet, large_node, write_job
from tests.web.api_client import ApiClient
from tests.web.served import column, columns, served, served_job


def start_of(job: FakeJob) -> float:
    return (job.job().facts.start_ns or 0) / NANOSECONDS


def test_short_windows_return_every_sample() -> None:
    job = FakeJob().record({"cpu.utilization_percent": [10.0, 20.5, 30.25], "own.count": [1, 2, 3]})
    frame = ApiClient(job).frame("series", keys="cpu.utilization_percent,own.count")
    assert frame["width"] == 0
    assert frame["x"] == [start_of(job) + offset for offset in (0.0, 0.5, 1.0)]
    percent, current = frame["series"]
    assert percent["parts"]["mean"] == pytest.approx([10.0, 20.5, 30.25])
    assert current["parts"]["max"] == [1.0, 2.0, 3.0]


def test_long_windows_return_buckets_with_minimum_mean_and_maximum() -> None:
    values = [float(number % 10) for number in range(4000)]
    job = FakeJob().record({"cpu.utilization_percent": values}, ticks_per_flush=500).end()
    job.seal()
    frame = ApiClient(job).frame("series", keys="cpu.utilization_percent", px=100)
    (series,) = frame["series"]
    assert len(frame["x"]) <= 101
    assert frame["width"] > 5
    assert set(series["parts"]["min"]) == {0.0}
    assert set(series["parts"]["max"]) == {9.0}
    assert series["parts"]["mean"] == pytest.approx([4.5] * len(frame["x"]), abs=0.3)


def test_a_gap_in_the_recording_is_a_gap_in_the_curve() -> None:
    job = FakeJob().record({"cpu.utilization_percent": [1.0] * 4})
    job.clock.advance(60)
    job.record({"cpu.utilization_percent": [2.0] * 4}).end()
    for pixels in (1000, 30):
        (series,) = ApiClient(job).frame("series", keys="cpu.utilization_percent", px=pixels)[
            "series"
        ]
        expected = [not np.isnan(value) for value in series["parts"]["mean"]]
        assert not all(expected), pixels
        assert expected[0]
        assert expected[-1]


def test_the_mean_of_devices_comes_with_their_minimum_and_maximum() -> None:
    curves = {f"gpu.utilization_percent/gpu{n}": [10.0 * n, 100.0] for n in range(3)}
    frame = ApiClient(FakeJob().record(curves)).frame(
        "series", keys="gpu.utilization_percent:*mean,gpu.utilization_percent:gpu2,nothing:gpu0"
    )
    mean, second, nothing = (each_series["parts"] for each_series in frame["series"])
    assert (mean["min"][0], mean["mean"][0], mean["max"][0]) == (0.0, 10.0, 20.0)
    assert second["mean"] == [20.0, 100.0]
    assert np.isnan(nothing["mean"]).all()


def test_heat_map_rows_list_cores_first_in_numeric_order() -> None:
    curves = {f"cpu.utilization_percent/cpu{n}": [10.0 * n] * 4 for n in range(11)}
    curves |= {"gpu.utilization_percent/gpu0": [99.5] * 4, "cpu.utilization_percent": [7.0] * 4}
    frame = ApiClient(FakeJob().record(curves)).frame("heat", px=50)
    assert [row["device"] for row in frame["rows"]][9:] == ["cpu9", "cpu10", "gpu0"]
    count = frame["columns"]["count"]
    rows = np.array(frame["values"]).reshape(len(frame["rows"]), count)
    assert rows[10][0] == 100.0
    assert rows[11][0] == 99.5


def test_a_heat_map_is_limited_to_its_window() -> None:
    curves = {"cpu.utilization_percent/cpu0": [float(number) for number in range(100)]}
    job = FakeJob().record(curves)
    start = start_of(job)
    frame = ApiClient(job).frame("heat", t0=start + 10, t1=start + 20, px=500)
    assert frame["columns"]["start"] == start + 10
    assert frame["values"][0] == 20.0
    assert frame["values"][-1] == 39.0


def test_wide_spans_are_drawn_individually_and_narrow_ones_as_coverage() -> None:
    job = FakeJob()
    worker = job.worker()
    for number in range(4):
        worker.step(number, {"forward": 1.0, "backward": 0.01}, rest=0.99)
    worker.flush()
    frame = ApiClient(job.end()).frame("spans", px=40)
    lanes = {lane["name"]: lane for lane in frame["lanes"]}
    assert list(lanes) == ["step", "forward", "backward"]
    assert lanes["forward"]["spans"]["start"] == [0.0, 2.0, 4.0, 6.0]
    assert lanes["forward"]["spans"]["step"] == [0, 1, 2, 3]
    assert lanes["forward"]["coverage"] is None
    assert lanes["backward"]["spans"]["start"] == []
    assert lanes["backward"]["count"] == 4
    assert lanes["backward"]["seconds"] == pytest.approx(0.04)
    assert sum(lanes["backward"]["coverage"]) * 0.2 == pytest.approx(0.04, abs=0.005)


def test_a_span_that_begins_before_the_window_is_included() -> None:
    job = FakeJob()
    job.worker().span("checkpoint", 0.0, 5000.0).flush()
    job.clock.advance(6000)
    start = start_of(job.end())
    frame = ApiClient(job).frame("spans", t0=start + 4000, t1=start + 5500)
    (lane,) = frame["lanes"]
    assert lane["seconds"] == 1000.0
    assert lane["spans"]["start"] == [-4000.0]


def test_the_last_steps_come_with_the_median_of_all_steps() -> None:
    job = FakeJob()
    worker = job.worker()
    for number in range(50):
        worker.step(number, {"forward": 0.5 if number < 40 else 2.0})
    worker.flush()
    answer = ApiClient(job).document("steps", last=3)
    assert (answer["total"], answer["median_seconds"]) == (50, 0.5)
    assert [step["step"] for step in answer["steps"]] == [47, 48, 49]
    assert answer["steps"][0]["phases"] == {"forward": 2.0}
    before = ApiClient(job).document("steps", last=2, before=10)
    assert [step["step"] for step in before["steps"]] == [8, 9]


def test_new_steps_appear_in_the_next_reply() -> None:
    job = FakeJob()
    worker = job.worker().step(0, {"forward": 1.0}).flush()
    client = ApiClient(job)
    assert client.document("steps")["total"] == 1
    worker.step(1, {"forward": 1.0}).flush()
    worker.seal()
    worker.step(2, {"forward": 1.0}).flush()
    answer = client.document("steps")
    assert answer["total"] == 3
    assert [step["step"] for step in answer["steps"]] == [0, 1, 2]


def test_scalars_are_the_mean_of_the_workers_with_the_extremes() -> None:
    job = FakeJob()
    for rank, offset in ((0, 0.0), (1, 1.0)):
        worker = job.worker(rank, world_size=2)
        for step in range(3):
            worker.scalar("loss", step, step + offset)
        worker.flush()
    frame = ApiClient(job).frame("scalars", names="loss")
    (loss,) = frame["scalars"]
    assert loss["x"] == [0, 1, 2]
    assert loss["parts"] == {"min": [0, 1, 2], "mean": [0.5, 1.5, 2.5], "max": [1, 2, 3]}
    assert loss["last"] == {"step": 2, "value": 2.5}


def test_a_long_curve_keeps_its_spikes_and_counts_non_finite_values() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(1000):
        worker.scalar("loss", step, 100.0 if step == 777 else float("nan") if step == 5 else 1.0)
    worker.flush()
    (loss,) = ApiClient(job).frame("scalars", names="loss", px=20)["scalars"]
    assert len(loss["x"]) == 20
    assert max(loss["parts"]["max"]) == 100.0
    assert loss["not_finite"] == {"count": 1, "first_step": 5}
    assert not np.isnan(loss["parts"]["mean"]).any()


def test_throughput_is_steps_per_second() -> None:
    job = FakeJob()
    worker = job.worker().step(0, {"forward": 0.5}).step(1, {"forward": 0.25})
    worker.flush()
    (scalar,) = ApiClient(job).frame("scalars", names="throughput")["scalars"]
    assert scalar["unit"] == "steps/s"
    assert scalar["parts"]["mean"] == [2.0, 4.0]


def test_the_node_that_differs_comes_first_with_a_reason(tmp_path: object) -> None:
    job = fleet(str(tmp_path), 20)
    client = served(str(tmp_path), FakeJob().clock)
    header, data = columns(client, f"/api/jobs/{job.uri.rpartition('/')[2]}/fleet?px=60")
    first, second = header["ranking"][:2]
    assert (first["node"], first["is_outlier"]) == ("node-0019", True)
    assert "below" in first["reason"]
    assert second["reason"] is None
    values = np.array(column(header["values"], data)).reshape(20, header["columns"]["count"])
    assert np.nanmean(values[19]) == pytest.approx(0.3 * np.nanmean(values[0]), rel=0.1)
    assert header["columns"]["count"] <= 61


def test_a_node_that_died_comes_before_all_others() -> None:
    first = FakeJob(node="node-a").record({"cpu.utilization_percent": [50.0] * 4})
    second = FakeJob(first.backend.uri, "node-b", first.clock)
    second.record({"cpu.utilization_percent": [50.0] * 4}).fail()
    first.end()
    ranking = ApiClient(first).frame("fleet")["ranking"]
    assert [item["node"] for item in ranking] == ["node-b", "node-a"]
    assert ranking[0]["reason"] == "this node failed"


def test_a_large_machine_has_a_row_for_every_device(tmp_path: object) -> None:
    large_node(str(tmp_path))
    client = served(str(tmp_path), FakeJob().clock)
    header, _ = columns(client, "/api/jobs/large-node/heat?px=100")
    assert len(header["rows"]) == 256 + 64
    metrics = {
        metric["metric"]: metric for metric in client.get("/api/jobs/large-node/metrics").json()
    }
    assert metrics["gpu.utilization_percent"]["devices"][-1] == "gpu63"


def test_the_job_document_has_what_a_page_loads_first(tmp_path: object) -> None:
    write_job(str(tmp_path), "one", Shape(seconds=60, nodes=2, cores=3, gpus=1, workers=2))
    document = served(str(tmp_path), FakeJob().clock).get("/api/jobs/one").json()
    assert (document["state"], document["t1"] - document["t0"]) == ("completed", 60.0)
    assert document["nodes"][1] == {
        "name": "node-0001",
        "cores": 3,
        "gpus": ["gpu0"],
        "has_gpu": True,
    }
    assert [worker["rank"] for worker in document["workers"]] == [0, 1]
    assert document["has"]["steps"]
    assert not document["has"]["tensors"]
    assert document["controls"] == {"stop": False, "set": False, "profile": False, "delete": True}
    assert document["steps"] == {"train": 120}


def test_charts_are_listed_and_can_be_loaded() -> None:
    job = FakeJob().record({"cpu.utilization_percent": [50.0] * 8})
    worker = job.worker()
    for step in range(5):
        worker.step(step, {"forward": 0.1}).scalar("loss", step, 1.0 / (1 + step))
    worker.flush()
    client = served_job(job.end())
    names = [chart["name"] for chart in client.get("charts").json()]
    assert {"losses", "stages", "resources"} <= set(names)
    for name in names:
        answer = client.get(f"charts/{name}")
        assert answer.status_code == 200, (name, answer.text)
    assert client.get("charts/losses").json()["spec"]["mark"] == "line"


def test_a_fleet_window_outside_the_job_is_empty() -> None:
    job = FakeJob().record({"cpu.utilization_percent": [50.0] * 100}).end()
    for outside in (1000, -1000):
        start = start_of(job) + outside
        frame = ApiClient(job).frame("fleet", t0=start, t1=start + 100, px=400)
        assert np.isnan(frame["values"]).all()
