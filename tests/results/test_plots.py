"""Charts of results: pictures, one-line summaries and self-contained files."""

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from sonde.client.job import Job
from sonde.errors import UsageError
from sonde.records.chart import Group, LineChart
from sonde.results.plots import Plot, Plottable
from sonde.results.tables import Frame
from tests.fakes.job import FakeJob
from tests.fakes.reported import Reported, reported_job

_QUESTIONS: dict[str, Callable[[Job], Plottable]] = {
    "system": lambda job: job.system("*.utilization_percent"),
    "one metric": lambda job: job.system("cpu.iowait_percent"),
    "during": lambda job: job.system("gpu.utilization_percent").during(job.events("forward")),
    "system statistics": lambda job: job.system("gpu.*").statistics(),
    "system histogram": lambda job: job.system("gpu.utilization_percent").histogram(),
    "heatmap": lambda job: job.system("cpu.utilization_percent", device="cpu*").heatmap(),
    "stages": lambda job: job.stages,
    "steps": lambda job: job.steps(),
    "slowest": lambda job: job.steps().slowest(),
    "step statistics": lambda job: job.steps().statistics(),
    "step histogram": lambda job: job.steps(None).histogram(),
    "outliers": lambda job: job.steps().outliers(),
    "outliers and machines": lambda job: job.steps().outliers().system(),
    "events": lambda job: job.events(category="phase"),
    "between": lambda job: job.between(5, 9),
    "losses": lambda job: job.losses,
    "reduced": lambda job: job.losses.reduced(),
    "tensors": lambda job: job.tensors(),
    "reduction": lambda job: job.tensor("gradient/first.weight").reduction("l2_norm"),
    "quantiles": lambda job: job.tensor("gradient/first.weight").quantiles(),
    "tensor histogram": lambda job: job.tensor("gradient/first.weight").histogram(20),
    "tensor histograms": lambda job: job.tensor("gradient/first.weight").histograms(),
    "timeline": lambda job: job.timeline(start_step=2, end_step=5),
    "operators": lambda job: job.operators(),
    "breakdown": lambda job: job.breakdown(),
    "gaps": lambda job: job.gaps(),
    "data loaders": lambda job: job.dataloader(),
    "python": lambda job: job.python(),
    "python modes": lambda job: job.python().modes(),
    "memory": lambda job: job.memory(),
    "collectives": lambda job: job.collectives(),
    "findings": lambda job: job.findings(),
    "judgement": lambda job: job.judgement(),
    "compare": lambda job: job.compare(job),
}
# these require a tensor or a step, which an empty job lacks
_OF_SOMETHING = ("reduction", "quantiles", "tensor histogram", "tensor histograms", "timeline")


@pytest.fixture(scope="module")
def reported() -> Reported:
    return reported_job()


@pytest.mark.parametrize("question", _QUESTIONS)
def test_every_result_has_a_chart_and_a_page(reported: Reported, question: str) -> None:
    answer = _QUESTIONS[question](reported.job)
    plot = answer.plot()
    assert isinstance(plot, Plot)
    assert repr(plot).startswith("<Plot ")
    assert plot.document()["mark"] == plot.spec.mark
    assert plot._repr_html_()
    if isinstance(answer, Frame):
        assert answer._repr_html_()


@pytest.mark.parametrize(
    "question", [question for question in _QUESTIONS if question not in _OF_SOMETHING]
)
def test_results_of_an_empty_job_can_be_plotted(question: str) -> None:
    job = FakeJob().end().job()
    assert _QUESTIONS[question](job).plot()._repr_html_()


def test_loss_chart_contains_the_losses(reported: Reported) -> None:
    spec = reported.job.losses.reduced().plot().spec
    assert isinstance(spec, LineChart)
    assert np.allclose(np.array(spec.curves[0].values, dtype=np.float64), reported.losses)


def test_curves_of_one_chart_share_a_unit(reported: Reported) -> None:
    spec = reported.job.system("*").plot().spec
    assert isinstance(spec, Group)
    assert len({each.title for each in spec.parts}) == len(spec.parts)


def test_saved_image_is_self_contained(reported: Reported, tmp_path: Path) -> None:
    plot = reported.job.steps().plot()
    page = plot.save(tmp_path / "steps.html").read_text()
    picture = plot.save(tmp_path / "steps.svg").read_text()
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert "Content-Security-Policy" in page
    assert not re.findall(r"(?:src|href)=[\"']https?:", page + picture)


def test_notebook_shows_a_picture_below_a_sandboxed_frame(
    reported: Reported,
) -> None:
    html = reported.job.steps().plot()._repr_html_()
    assert html.index("<img") < html.index("<iframe")
    assert 'sandbox="allow-scripts"' in html


def test_saving_with_an_unknown_suffix_is_an_error(reported: Reported, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.html or \.svg"):
        reported.job.steps().plot().save(tmp_path / "steps.gif")
    with pytest.raises(UsageError, match="is a table"):
        reported.job.tensors().plot().save(tmp_path / "tensors.svg")


def test_hostile_names_stay_text() -> None:
    fake = FakeJob(node="<script>alert(1)</script>")
    fake.record({"cpu.utilization_percent/<img src=x>": [1.0, 2.0]}).end()
    metrics = fake.job().system()
    html = metrics.plot()._repr_html_() + metrics._repr_html_() + fake.job()._repr_html_()
    assert "<script>alert" not in html
    assert "<img src=x>" not in html
