"""The table of resource usage: exact percentiles, and the most unusual of many nodes."""

import numpy as np
import pytest

from sonde.charts.resources import Resources
from sonde.records.chart import Table
from tests.fakes.job import FakeJob
from tests.fakes.reported import GPUS, Reported


def table_of(reported: Reported) -> Table:
    spec = Resources().build(reported.job)
    assert isinstance(spec, Table)
    return spec


def test_resources_are_exact_percentiles_per_node(reported: Reported) -> None:
    rows = table_of(reported).records()
    for node, samples in reported.samples.items():
        gpus = np.mean([samples[f"gpu.utilization_percent/{gpu}"] for gpu in GPUS], axis=0)
        expected = {
            "Total CPU": samples["cpu.utilization_percent"],
            "Total GPU": gpus,
            "CPU memory": samples["memory.used_percent"],
            "I/O wait": samples["cpu.iowait_percent"],
            "Network in": samples["network.receive_bytes_per_second/eth0"],
            "Network out": samples["network.transmit_bytes_per_second/eth0"],
        }
        result = {row["metric"]: row for row in rows if row["node"] == node}
        assert set(expected) < set(result)
        for metric, values in expected.items():
            row = result[metric]
            numbers = [row[name] for name in ("minimum", "p50", "p90", "p95", "p99", "maximum")]
            assert numbers == pytest.approx(
                np.percentile(values, (0, 50, 90, 95, 99, 100)), rel=1e-6
            )
            assert row["samples"] == len(values)


def test_note_counts_used_gpus(reported: Reported) -> None:
    assert "1 of 2 GPUs of node-a had a mean utilization of 10% or more" in table_of(reported).note


def test_only_the_most_unusual_of_many_nodes_are_shown() -> None:
    first = FakeJob(node="node-00")
    nodes = [first, *(FakeJob(first.backend.uri, f"node-{each:02d}") for each in range(1, 34))]
    for index, node in enumerate(nodes):
        node.record({"cpu.utilization_percent": [90.0 if index == 33 else 20.0] * 4})
    spec = Resources().build(first.job())
    assert isinstance(spec, Table)
    rows = spec.records()
    assert (rows[0]["node"], rows[0]["p50"]) == ("node-33", 90.0)
    assert spec.coarsened == "Only the 32 most unusual of 34 nodes are shown."


def test_the_cpu_share_of_the_job_is_beside_that_of_the_machine() -> None:
    curves = {
        "cpu.utilization_percent": [80.0] * 4,
        "cpu.utilization_percent/cpu0": [90.0] * 4,
        "cpu.utilization_percent/cpu1": [70.0] * 4,
        "process_tree.cpu_percent": [50.0] * 4,  # of one core
    }
    table = Resources().build(FakeJob().record(curves).end().job())
    assert isinstance(table, Table)
    medians = {row["metric"]: row["p50"] for row in table.records()}
    assert list(medians)[:2] == ["Total CPU", "Job CPU"]
    assert (medians["Total CPU"], medians["Job CPU"]) == (80.0, 25.0)
