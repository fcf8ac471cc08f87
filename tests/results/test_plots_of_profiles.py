"""Charts of profiles show the values of their tables."""

import numpy as np
import pytest

from sonde.records.chart import Bars, Lanes, StackedBars
from sonde.results.plots import Plottable
from tests.fakes.job import FakeJob
from tests.results import test_collectives as collectives
from tests.results import test_loading as loading
from tests.results import test_operators as operators
from tests.results import test_python_profile as python
from tests.results import test_timeline as timeline


def bars_of(answer: Plottable) -> Bars | StackedBars:
    spec = answer.plot().spec
    assert isinstance(spec, Bars | StackedBars)
    return spec


def test_python_functions_are_plotted_as_bars() -> None:
    result = python.profiled().job().python()
    spec = bars_of(result)
    assert spec.labels == tuple(row.name for row in result.top().rows)
    assert spec.parts[0].values == tuple(row.self_seconds for row in result.top().rows)
    assert bars_of(result.by("module")).unit == "seconds"
    assert bars_of(result.outliers()).parts[0].label == "slow steps self"


def test_operators_and_device_time_are_plotted_as_bars() -> None:
    job = FakeJob()
    worker = job.worker()
    operators.profiled_on_cpu(worker)
    worker.flush()
    result = job.end().job()
    spec = bars_of(result.operators())
    assert list(spec.labels) == [row.name for row in result.operators().top().rows]
    groups = bars_of(result.breakdown()).parts
    assert sum(float(group.values[0] or 0) for group in groups) == pytest.approx(100)


def test_data_loaders_are_plotted_as_bars() -> None:
    loaders = loading.slow_job().job().dataloader()
    rows = loaders.to_arrow().to_pylist()
    assert bars_of(loaders).parts[0].values == tuple(row["p50"] for row in rows)
    assert bars_of(loaders.functions).unit == "percent"
    assert bars_of(loaders.starts).parts[0].values == (0.2, 0.2)


def test_collectives_are_plotted_as_waiting_and_transfer() -> None:
    result = collectives.trained().job().collectives()
    spec = bars_of(result)
    frame = result.to_pandas()
    drawn = np.array([group.values for group in spec.parts], dtype=np.float64).sum()
    assert drawn == pytest.approx(frame["seconds"].sum())
    assert bars_of(result.clocks).labels == tuple(node.node for node in result.clocks.nodes)


def test_a_timeline_is_plotted_as_lanes() -> None:
    result = timeline.recorded().job().timeline()
    spec = result.plot().spec
    assert isinstance(spec, Lanes)
    assert sum(len(lane.spans) for lane in spec.lanes) == result.to_arrow().num_rows
    assert all(
        0 <= span.start <= span.end <= spec.end for lane in spec.lanes for span in lane.spans
    )
