import json

import pytest

from sonde.records.job import JobState
from sonde.results.recent_samples import COLUMNS
from tests.fakes.job import FakeJob
from tests.results.machines import TICKS, beat, end, look, machine, record


def test_disks_are_added_up_and_gpus_are_kept_apart() -> None:
    [node] = look(record("", machine(gpus=8, busy_gpus=1))).nodes
    assert node.traffic.disk_read == pytest.approx(2e6)
    assert [gpu.utilization_percent for gpu in node.gpus] == [97.0] + [0.0] * 7
    assert node.busy_gpus == 1


def test_cores_and_gpus_are_in_the_order_in_which_people_count() -> None:
    [node] = look(record("", machine(cores=12))).nodes
    assert [name for name, _ in node.processor.cores] == [f"cpu{core}" for core in range(12)]


def test_the_present_value_is_of_the_last_moments_only() -> None:
    job = FakeJob()
    job.record({"cpu.utilization_percent": [0.0] * 30 + [80.0] * 10})
    assert look(job).nodes[0].processor.percent == pytest.approx(80.0)


def test_the_past_is_in_columns_the_latest_last() -> None:
    job = FakeJob()
    job.record({"cpu.utilization_percent": [float(tick) for tick in range(TICKS)]})
    history = look(job).nodes[0].processor.history
    known = [value for value in history if value is not None]
    assert len(history) == COLUMNS
    assert history[-len(known) :] == tuple(sorted(known))
    assert len(known) in (4, 5)  # 20 seconds in columns of 5


def test_what_was_not_measured_is_none_and_writes_as_null() -> None:
    job = FakeJob()
    job.record({"cpu.utilization_percent": [float("nan")] * 4})
    now = look(job)
    assert now.nodes[0].processor.percent is None
    assert "NaN" not in json.dumps(now.document(), allow_nan=False)


def test_a_node_without_samples_can_be_looked_at() -> None:
    [node] = look(FakeJob()).nodes
    assert (node.processor.percent, node.memory.node.percent, node.gpus) == (None, None, ())


def test_the_limit_of_the_control_group_counts_where_it_is_the_tighter_one() -> None:
    [tight] = look(record("", machine(limit=8e9))).nodes
    [loose] = look(record("", machine(limit=1e12))).nodes
    assert tight.memory.limit is not None
    assert tight.memory.worst_percent == pytest.approx(50.0)
    assert loose.memory.limit is None


def test_page_cache_does_not_count_against_the_limit() -> None:
    values = machine(limit=8e9) | {"cgroup.memory_reclaimable_bytes": 3e9}
    [node] = look(record("", values)).nodes
    assert node.memory.limit is not None
    assert node.memory.limit.used_bytes == pytest.approx(1e9)


def test_a_running_node_without_news_is_silent_and_a_finished_one_is_not() -> None:
    job = record("", machine())
    job.clock.advance(60)
    beat(job, "gpu-box")
    assert look(job).nodes[0].is_silent
    end(job, JobState.COMPLETED, None, 0)
    assert not look(job).nodes[0].is_silent


def test_of_many_nodes_the_past_is_not_read() -> None:
    record("memory://fleet-of-two/job", machine(), "a")
    job = record("memory://fleet-of-two/job", machine(), "b")
    assert {node.processor.history for node in look(job).nodes} == {()}
