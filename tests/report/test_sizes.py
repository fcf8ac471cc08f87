"""The size of reports for one node and for many."""

from pathlib import Path

import pytest

from sonde.client.reports import report_of
from sonde.records.chart import Curve, LineChart
from sonde.report.build import MAX_BYTES
from sonde.report.size_limit import fit_page
from tests.fakes.stores import Shape, hostile, write_job

TYPICAL_BYTES = 1_000_000


@pytest.mark.parametrize("nodes", [1, 64, 1000])
def test_report_stays_small_with_many_nodes(nodes: int, tmp_path: Path) -> None:
    shape = Shape(seconds=60, nodes=nodes, cores=2, workers=min(nodes, 8))
    backend = write_job(str(tmp_path), "fleet", shape)
    report = report_of(backend)
    assert report.document["failed"] == {}
    size = len(report.html.encode())
    assert size < (TYPICAL_BYTES if nodes < 1000 else MAX_BYTES)
    assert ('class="coarse"' in report.html) == (nodes > 1)
    if nodes > 64:
        assert f"of {nodes:,} nodes" in report.html


def test_names_in_a_hostile_store_stay_text(tmp_path: Path) -> None:
    backend = hostile(str(tmp_path))
    report = report_of(backend)
    assert report.document["failed"] == {}
    assert "<img" not in report.html
    assert "<script>alert" not in report.html


def chart(points: int) -> LineChart:
    values = tuple(float(each) for each in range(points))
    curve = Curve(label="a", values=values)
    return LineChart(title="a", x=values, x_title="Step", curves=(curve,))


def test_largest_charts_lose_their_data_first() -> None:
    specs = {"large": chart(5000), "small": chart(10)}
    requested: list[set[str] | None] = []

    def written(keys: set[str] | None) -> str:
        requested.append(keys)
        sizes = specs if keys is None else keys
        return "x" * (100 + sum(1000 if name == "small" else 90_000 for name in sizes))

    fit_page(written, specs, 200_000)
    assert requested == [None]
    fit_page(written, specs, 50_000)
    assert requested[-1] == {"small"}
