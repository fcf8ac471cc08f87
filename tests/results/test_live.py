import json

import pytest

from sonde.records.job import JobState
from sonde.results.recent_samples import COLUMNS
from tests.fakes.job import FakeJob
from tests.results.machines import TICKS, beat, end, machine, poll, record


def test_disks_are_summed_and_gpus_listed_separately() -> None:
    [node] = poll(record("", machine(gpus=8, busy_gpus=1))).nodes
    assert node.traffic.disk_read == pytest.approx(2e6)
    assert [gpu.utilization_percent for gpu in node.gpus] == [97.0] + [0.0] * 7
    assert node.busy_gpus == 1


def test_cores_and_gpus_are_in_natural_order() -> None:
    [node] = poll(record("", machine(cores=12))).nodes
    assert [name for name, _ in node.processor.cores] == [f"cpu{core}" for core in range(12)]


def test_current_value_uses_the_last_samples_only() -> None:
    job = FakeJob()
    job.record({"cpu.utilization_percent": [0.0] * 30 + [80.0] * 10})
    assert poll(job).nodes[0].processor.percent == pytest.approx(80.0)


def test_history_columns_end_with_the_latest() -> None:
    job = FakeJob()
    job.record({"cpu.utilization_percent": [float(tick) for tick in range(TICKS)]})
    history = poll(job).nodes[0].processor.history
    recorded = [value for value in history if value is not None]
    assert len(history) == COLUMNS
    assert history[-len(recorded) :] == tuple(sorted(recorded))
    assert len(recorded) in (4, 5)  # 20 seconds in columns of 5


def test_unmeasured_values_are_none_and_null_in_json() -> None:
    job = FakeJob()
    job.record({"cpu.utilization_percent": [float("nan")] * 4})
    now = poll(job)
    assert now.nodes[0].processor.percent is None
    assert "NaN" not in json.dumps(now.document(), allow_nan=False)


def test_node_without_samples_can_be_shown() -> None:
    [node] = poll(FakeJob()).nodes
    assert (node.processor.percent, node.memory.node.percent, node.gpus) == (None, None, ())


def test_cgroup_memory_limit_is_used_if_it_is_lower() -> None:
    [tight] = poll(record("", machine(limit=8e9))).nodes
    [loose] = poll(record("", machine(limit=1e12))).nodes
    assert tight.memory.limit is not None
    assert tight.memory.worst_percent == pytest.approx(50.0)
    assert loose.memory.limit is None


def test_page_cache_does_not_count_against_the_limit() -> None:
    values = machine(limit=8e9) | {"cgroup.memory_reclaimable_bytes": 3e9}
    [node] = poll(record("", values)).nodes
    assert node.memory.limit is not None
    assert node.memory.limit.used_bytes == pytest.approx(1e9)


def test_running_node_without_samples_is_silent_and_a_finished_one_is_not() -> None:
    job = record("", machine())
    job.clock.advance(60)
    beat(job, "gpu-box")
    assert poll(job).nodes[0].is_silent
    end(job, JobState.COMPLETED, None, 0)
    assert not poll(job).nodes[0].is_silent


def test_history_is_not_read_for_many_nodes() -> None:
    record("memory://fleet-of-two/job", machine(), "a")
    job = record("memory://fleet-of-two/job", machine(), "b")
    assert {node.processor.history for node in poll(job).nodes} == {()}
