"""Charts of profiles: what they draw is what their tables say."""

import numpy as np
import pytest

from sonde.records.chart import Bars, Lanes, StackedBars
from sonde.results.plots import Drawn
from tests.fakes.job import FakeJob
from tests.results import test_collectives as collectives
from tests.results import test_loading as loading
from tests.results import test_operators as operators
from tests.results import test_python_profile as python
from tests.results import test_timeline as timeline


def bars_of(answer: Drawn) -> Bars | StackedBars:
    spec = answer.plot().spec
    assert isinstance(spec, Bars | StackedBars)
    return spec


def test_functions_of_python_are_bars_with_their_times() -> None:
    found = python.profiled().job().python()
    spec = bars_of(found)
    assert spec.labels == tuple(row.name for row in found.top().rows)
    assert spec.parts[0].values == tuple(row.self_seconds for row in found.top().rows)
    assert bars_of(found.by("module")).unit == "seconds"
    assert bars_of(found.outliers()).parts[0].label == "slow steps self"


def test_operators_and_where_devices_were_are_bars() -> None:
    job = FakeJob()
    worker = job.worker()
    operators.profiled_on_cpu(worker)
    worker.flush()
    found = job.end().job()
    spec = bars_of(found.operators())
    assert list(spec.labels) == [row.name for row in found.operators().top().rows]
    parts = bars_of(found.breakdown()).parts
    assert sum(float(part.values[0] or 0) for part in parts) == pytest.approx(100)


def test_data_loaders_their_functions_and_starts_are_bars() -> None:
    loaders = loading.slow_job().job().dataloader()
    rows = loaders.to_arrow().to_pylist()
    assert bars_of(loaders).parts[0].values == tuple(row["p50"] for row in rows)
    assert bars_of(loaders.functions).unit == "percent"
    assert bars_of(loaders.starts).parts[0].values == (0.2, 0.2)


def test_collectives_are_bars_of_waiting_and_transfer() -> None:
    found = collectives.trained().job().collectives()
    spec = bars_of(found)
    frame = found.to_pandas()
    drawn = np.array([part.values for part in spec.parts], dtype=np.float64).sum()
    assert drawn == pytest.approx(frame["seconds"].sum())
    assert bars_of(found.clocks).labels == tuple(node.node for node in found.clocks.nodes)


def test_a_timeline_is_lanes_of_its_tracks() -> None:
    found = timeline.recorded().job().timeline()
    spec = found.plot().spec
    assert isinstance(spec, Lanes)
    assert sum(len(lane.spans) for lane in spec.lanes) == found.to_arrow().num_rows
    assert all(
        0 <= span.start <= span.end <= spec.end for lane in spec.lanes for span in lane.spans
    )
