"""Every query of running and finished jobs, in folders and object stores, in every format."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sonde.client.job import Job, open_job
from sonde.records.job import JobState
from sonde.results.headline import headline
from sonde.results.plots import Plot
from sonde.results.tables import Frame
from sonde.store.backends import open_backend
from tests.fakes.python_profile import FakeProfile
from tests.fakes.reported import reported_job
from tests.fakes.s3 import s3_server, use_s3_server
from tests.results import test_loading as loading
from tests.results import test_operators as operators
from tests.results.test_python_profile import HELPER, MAIN, MODEL

_BUCKET = "sonde-answers"
_GRADIENT = "gradient/first.weight"
_GPU = "gpu.utilization_percent"

# the analyses of SageMaker Debugger's client, and all other queries
_ANSWERS: dict[str, Callable[[Job], Frame]] = {
    "step histogram": lambda job: job.steps().histogram(),
    "step statistics": lambda job: job.steps().statistics(),
    "step outliers": lambda job: job.steps().outliers(),
    "step outliers and machines": lambda job: job.steps().outliers().system(),
    "step timeline": lambda job: job.steps(),
    "slowest steps": lambda job: job.steps(mode="train").slowest(5),
    "histogram of phases": lambda job: job.events(category="phase").histogram(),
    "utilization histogram": lambda job: job.system(_GPU).histogram((0, 10, 90, 100)),
    "histogram by device": lambda job: job.system("cpu.*", device="cpu*").histogram(),
    "histogram in events": lambda job: (
        job.system(_GPU, device="gpu0").during(job.events("backward")).histogram()
    ),
    "system metrics": lambda job: job.system(_GPU, start=5, end=60),
    "system statistics": lambda job: job.system("gpu.*").statistics(),
    "buckets": lambda job: job.system(_GPU).buckets(10),
    "heatmap": lambda job: job.system("cpu.utilization_percent", device="cpu*").heatmap(),
    "selection": lambda job: job.between(5, 9),
    "selected events": lambda job: job.between(5, 9).events,
    "merged timeline": lambda job: job.timeline(start_step=0, end_step=3),
    "data loaders": lambda job: job.dataloader(),
    "starts of loaders": lambda job: job.dataloader().starts,
    "functions of loaders": lambda job: job.dataloader().functions,
    "python by step": lambda job: job.python(steps=(0, 2)),
    "python by time": lambda job: job.python().between(0, 600),
    "python by mode": lambda job: job.python(mode="train").top(5, by="total"),
    "python between modes": lambda job: job.python().modes(),
    "python of slow steps": lambda job: job.python().outliers(factor=1.2),
    "python by module": lambda job: job.python().by("module"),
    "python by phase": lambda job: job.python().phases(),
    "python calls": lambda job: job.python().flame(),
    "python windows": lambda job: job.python().windows,
    "operators": lambda job: job.operators(device="cpu").top(20),
    "breakdown": lambda job: job.breakdown(),
    "stages": lambda job: job.stages,
    "lives": lambda job: job.lives,
    "events": lambda job: job.events("data_*"),
    "losses": lambda job: job.losses,
    "losses over workers": lambda job: job.losses.reduced(),
    "tensors": lambda job: job.tensors(),
    "tensor": lambda job: job.tensor(_GRADIENT),
    "reduction": lambda job: job.tensor(_GRADIENT).reduction("l2_norm"),
    "quantiles": lambda job: job.tensor(_GRADIENT).quantiles(),
    "histogram of a tensor": lambda job: job.tensor(_GRADIENT).histogram(20),
    "histograms of a tensor": lambda job: job.tensor(_GRADIENT).histograms(),
    "check": lambda job: job.check("VanishingGradient", threshold=1e-6),
    "compared losses": lambda job: job.compare(job).scalars(),
}
_MAY_BE_EMPTY = ("python between modes",)


def _recorded(uri: str, *, is_over: bool) -> Job:
    """Record training on two nodes, with profiles of all kinds."""
    made = reported_job(uri, is_over=False)
    worker = made.jobs[0].worker(2, world_size=3)
    profile = FakeProfile(worker)
    for waits in (2, 20, 2):
        profile.add_samples((MAIN, HELPER), waits).add_samples((MAIN, MODEL), 4)
    for step, seconds in enumerate((0.002, 0.020, 0.002)):
        worker.step(step, {"data_wait": seconds, "forward": 0.004})
    profile.write()
    operators.profiled_on_cpu(worker, step=3)
    loading.train(worker, range(4, 24), 0.1, (1.0, 0.5))
    stacks: Mapping[str, Any] = {"stacks": loading.SLOW, "cpu_seconds": 0.2}
    loading.operation(worker, "batch", "loader 0 process 0", -0.5, 0.4, **stacks)
    worker.flush()
    for job in made.jobs:
        if is_over:
            job.end()
        else:
            job.beat()
    return Job(open_backend(uri), made.jobs[0].clock)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with s3_server(_BUCKET) as port:
        yield port


@pytest.fixture(params=["folder", "object store"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> str:
    if request.param == "folder":
        return str(tmp_path)
    use_s3_server(port, monkeypatch)
    return f"s3://{_BUCKET}/{tmp_path.name}"


@pytest.mark.parametrize("is_over", [False, True], ids=["live", "over"])
def test_every_result_prints_plots_and_converts_to_data_frames(
    store: str, is_over: bool, tmp_path: Path
) -> None:
    job = _recorded(f"{store}/job", is_over=is_over)
    assert job.state.is_over == is_over
    for what, ask in _ANSWERS.items():
        answer = ask(job)
        arrow, pandas, polars = answer.to_arrow(), answer.to_pandas(), answer.to_polars()
        assert arrow.shape == pandas.shape == polars.shape, what
        assert arrow.num_rows or what in _MAY_BE_EMPTY, what
        assert list(pandas.columns) == arrow.column_names == polars.columns, what
        _reads_well(repr(answer), what)
        assert answer._repr_html_(), what
        plot = answer.plot()
        assert isinstance(plot, Plot), what
        assert json.dumps(plot.document()), what
        _reads_well(repr(plot), what)
        assert "sandbox=" in plot._repr_html_() or plot.spec.mark in ("text", "table"), what
    trace = job.timeline(start_step=0, end_step=3).save(tmp_path / "merged.json")
    assert json.loads(trace.read_text())["traceEvents"]


def test_new_data_of_a_live_job_appears_after_a_refresh(store: str) -> None:
    made = reported_job(f"{store}/job", is_over=False)
    made.jobs[0].beat()
    job = Job(open_backend(f"{store}/job"), made.jobs[0].clock)
    assert job.state is JobState.RUNNING
    assert len(job.steps(worker=0)) == 200
    worker = made.jobs[0].worker(0, restart=1, device="cuda:0", world_size=2)
    worker.scalar("loss", 200, 0.25).step(200, {"forward": 0.1}).flush()
    made.jobs[0].record({f"{_GPU}/gpu0": [50.0, 60.0]})
    assert len(job.steps(worker=0)) == 200
    job.refresh()
    assert len(job.steps(worker=0)) == 201
    assert job.losses.reduced().to_pandas()["value"].iloc[-1] == 0.25
    assert job.system(_GPU, node="node-a", device="gpu0").to_pandas().iloc[-1, -1] == 60.0


def test_facts_of_a_job_are_plain_values(tmp_path: Path) -> None:
    _recorded(f"{tmp_path}/job", is_over=True)
    job = open_job("job", tmp_path)
    assert json.loads(json.dumps(job.summary))["state"] == "completed"
    assert repr(job.summary).startswith("job completed")
    page = job._repr_html_()
    assert all(figure.title in page for figure in headline(job))
    assert "<table" in job.summary._repr_html_()
    assert job.nodes == ("node-a", "node-b")
    assert job.workers == ("0", "1", "2")
    assert job.uri.endswith("/job")
    assert repr(job).startswith("<Job job: completed")


def _reads_well(text: str, what: str) -> None:
    assert text.strip(), what
    assert len(text.splitlines()) <= 60, what
    for sign in ("array(", "object at 0x", "MetricInfo(", "\x1b"):
        assert sign not in text, what
