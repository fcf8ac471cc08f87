"""The headline over HTTP, with the charts that matter and the charts of findings."""

from sonde.records.advice import Basis, Bottleneck, Gain, Improvement, Remedy
from sonde.records.finding import Finding, Severity
from sonde.web.answers.charts import loaded_charts
from tests.fakes.job import FakeJob
from tests.fakes.stores import write_findings
from tests.web.served import served_job


def test_the_headline_has_figures_and_the_charts_that_have_data() -> None:
    job = FakeJob()
    job.record({"cpu.utilization_percent": [50.0] * 8, "cpu.utilization_percent/cpu0": [50.0] * 8})
    worker = job.worker()
    for step in range(20):
        worker.scalar("loss", step, 1.0 / (1 + step)).step(step, {"forward": 0.1})
    worker.beat(0.1, 2.0).flush()
    job.end()
    document = served_job(job).get("headline").json()
    names = [figure["name"] for figure in document["figures"]]
    assert names == ["progress", "throughput", "loss", "utilization", "lost", "cost"]
    assert document["charts"] == ["losses", "throughput", "node_heatmap"]
    assert document["illustrations"] == document["metrics"] == {}


def test_a_job_without_data_has_an_empty_headline() -> None:
    document = served_job(FakeJob().end()).get("headline").json()
    assert document["figures"] == document["charts"] == []


def test_a_chart_shows_all_values_of_a_range_of_steps() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(3000):
        rate = 2.0 if step == 1234 else 0.05
        worker.scalar("learning_rate", step, rate).scalar("loss", step, 1.0)
        worker.step(step, {"forward": 0.01})
    worker.beat(0.1, 2.0).flush()
    client = served_job(job.end())
    spec = client.get("charts/learning_rate?start_step=1200&end_step=1280").json()["spec"]
    assert dict(zip(spec["x"], spec["curves"][0]["values"], strict=True))[1234] == 2.0
    assert (spec["x"][0], spec["x"][-1]) == (1200, 1279)
    whole = client.get("charts/learning_rate").json()["spec"]
    assert whole["x"][0] == 0
    assert max(whole["curves"][0]["values"]) < 2.0
    assert client.get("charts/learning_rate?start_step=-4").status_code == 400


def test_every_chart_that_takes_steps_says_so() -> None:
    takes_steps = {name for name, kind in loaded_charts() if kind.takes_steps}
    assert takes_steps == {"losses", "learning_rate", "gradient_norms"}


def test_remedies_of_a_finding_have_their_gain_and_code() -> None:
    gain = Gain(1.5, 1.4, 1.6, Basis.MEASURED, "the wait disappears")
    remedy = Remedy("Load with 4 processes", "DataLoader(..., num_workers=4)", gain)
    improvement = Improvement(Bottleneck.DATA, (remedy,))
    job = FakeJob()
    findings = [
        Finding("Slow", Severity.WARNING, "slow", improvement=improvement),
        Finding("Other", Severity.INFO, "other"),
    ]
    write_findings(job.backend, findings)
    remedies = served_job(job.end()).get("headline").json()["remedies"]
    [[document]] = remedies.values()
    assert document["text"].startswith("Load with 4 processes: ")
    assert document["text"].endswith("faster")
    assert document["code"] == "DataLoader(..., num_workers=4)"
