"""The report of a job with all kinds of data."""

import base64
import hashlib
import json
import re
from dataclasses import asdict, replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sonde.client.reports import report_of
from sonde.drawing.page import on_paper
from sonde.errors import UsageError
from sonde.records.finding import (
    Episode,
    Evaluation,
    Evaluations,
    Finding,
    RuleStatus,
    Setting,
    Severity,
)
from sonde.records.job import JobState
from sonde.report.build import Report, chart_count
from sonde.report.storage import has_report, store_report, write_report
from sonde.store.backends import Backend
from sonde.store.facts import encode_facts
from sonde.store.format import FINDINGS
from sonde.store.layout import FINDINGS_FOLDER, report_key, rules_key
from sonde.store.writer import Writer
from tests.fakes.clock import START_NS
from tests.fakes.job import FakeJob
from tests.fakes.reported import Reported, reported_job

SECTIONS = (
    *("Verdict", "Training job summary", "System usage statistics", "Framework metrics summary"),
    *("Rules summary", "Step duration analysis", "GPU utilization analysis"),
    *("Batch size, CPU, I/O and GPU memory", "Tensors", "Environment and method"),
)
HOSTILE = "</script><img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """Parses what a browser without scripts shows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[str] = []
        self.cells: list[str] = []
        self._open: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag in ("h1", "h2", "h3"):
            self.headings.append("")
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if {"script", "style"} & {*self._open}:
            return
        self.text += data
        if {"h1", "h2", "h3"} & {*self._open}:
            self.headings[-1] += data
        if "td" in self._open:
            self.cells[-1] += data


def judged(backend: Backend, made: Reported, *, message: str = "Steps wait for data.") -> None:
    """Record the evaluations of two rules, one with a finding."""
    finding = Finding(
        "StepOutlier",
        Severity.WARNING,
        message,
        "look at `data_wait`",
        evidence={"count": 8.0, "phase": "data_wait"},
    )
    episode = Episode("e1", finding, START_NS, START_NS + 10**9, 3, first_step=25, last_step=175)
    rules = (
        Evaluation(
            "StepOutlier",
            Setting.CALIBRATED,
            RuleStatus.ISSUES_FOUND,
            {"threshold": 3},
            triggered=3,
            datapoints=400,
            episode_ids=("e1",),
        ),
        Evaluation(
            "CPUBottleneck", Setting.CALIBRATED, RuleStatus.NO_ISSUES_FOUND, {}, datapoints=240
        ),
    )
    backend.write(rules_key("evaluations"), encode_facts(Evaluations(rules)))
    writer = Writer(backend, FINDINGS_FOLDER, made.jobs[0].clock)
    texts = (finding.rule, finding.severity.value, finding.message)
    writer.add(FINDINGS, (episode.last_ns, *texts, json.dumps(asdict(episode))))
    writer.flush()
    writer.outbox.write_waiting()


@pytest.fixture(scope="module")
def made() -> Reported:
    return reported_job()


@pytest.fixture(scope="module")
def report(made: Reported) -> Report:
    return report_of(made.jobs[0].backend, made.jobs[0].clock)


@pytest.fixture(scope="module")
def page(report: Report) -> Page:
    return Page(report.html)


def test_sections_are_in_order(page: Page) -> None:
    result = [heading for heading in page.headings if heading in SECTIONS]
    assert result == [section for section in SECTIONS if section != "Rules summary"]


def test_the_page_is_readable_without_scripts(report: Report, page: Page) -> None:
    tables = report.document["tables"]
    texts = [
        value
        for table in tables.values()
        for row in table["rows"]
        for name, value in row.items()
        if isinstance(value, str) and value and name not in ("unit", "time", "name", "value")
    ]
    assert len(texts) > 30
    assert [text for text in texts if text not in page.text] == []
    drawn = [attributes for tag, attributes in page.tags if tag == "figure"]
    assert {"heatmap", "line", "box_plot", "histogram", "table"} <= {
        each["data-mark"] for each in drawn
    }
    assert sum(tag == "svg" for tag, _ in page.tags) > 15


def test_every_number_of_a_table_has_a_unit(page: Page) -> None:
    assert "MB/s" in page.text
    assert not [cell for cell in page.cells if re.fullmatch(r"\d+\.\d{3,}", cell.strip())]


def test_every_picture_has_data_for_scripts(report: Report) -> None:
    blocks = re.findall(
        r'<script type="application/json" data-spec="([^"]+)">(.*?)</script>', report.html
    )
    assert len(blocks) > 8
    for name, text in blocks:
        assert f'data-chart="{name}"' in report.html
        assert json.loads(text)["mark"]


def test_the_policy_allows_only_the_embedded_content(report: Report) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', report.html)
    assert policy is not None
    assert "default-src &#x27;none&#x27;" in policy[1]
    for tag in ("style", "script"):
        for text in re.findall(rf"<{tag}>(.*?)</{tag}>", report.html, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert digest in policy[1]
    assert not re.search(r" style=| on\w+=", re.sub(r"<script.*?</script>", "", report.html))


def test_page_policy_allows_the_paper_size(report: Report) -> None:
    html = on_paper(report.html, "Letter")
    style = re.findall(r"<style>(@page{size:Letter})</style>", html)
    hashed = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    assert f"sha256-{hashed}" in unescape(policy).split(";")[1]
    assert len(re.findall(r"sha256-", policy)) == 3


def test_page_loads_nothing_from_the_network(page: Page) -> None:
    for _, attributes in page.tags:
        for name in ("href", "src", "action"):
            address = attributes.get(name) or "#"
            assert address.startswith(("#", "data:image/png;base64,"))


def test_the_page_is_below_its_size_limit(report: Report) -> None:
    assert len(report.html.encode()) < 1_000_000
    assert report.document["failed"] == {}


def test_progress_counts_every_chart(made: Reported) -> None:
    counts: list[int] = []
    report_of(made.jobs[0].backend, made.jobs[0].clock, advance=counts.append)
    assert sum(counts) == chart_count()


def test_section_without_findings_is_collapsed_to_a_line() -> None:
    made = reported_job()
    judged(made.jobs[0].backend, made)
    report = report_of(made.jobs[0].backend, made.jobs[0].clock)
    folded = re.findall(r'<details class="fold"><summary><h[23]>([^<]+)', report.html)
    assert "CPU bottlenecks" in folded
    assert "Step duration analysis" not in folded
    assert "1 finding: 1 warning." in Page(report.html).text
    assert "Rules summary" in Page(report.html).headings


def test_rules_are_exported_for_pipelines_and_in_sagemaker_format() -> None:
    made = reported_job()
    judged(made.jobs[0].backend, made)
    report = report_of(made.jobs[0].backend, made.jobs[0].clock)
    rules = {rule["rule"]: rule for rule in report.document["rules"]}
    assert rules["StepOutlier"]["triggered"] == 3
    assert rules["StepOutlier"]["violations"] == 1
    assert rules["StepOutlier"]["datapoints"] == 400
    assert rules["StepOutlier"]["parameters"] == {"threshold": 3}
    assert rules["StepOutlier"]["details"]["findings"][0]["evidence"]["count"] == 8
    old = report.rules["StepOutlier"]
    assert set(old) == {"RuleTriggered", "Violations", "Details", "Datapoints", "RuleParameters"}
    assert (old["RuleTriggered"], old["Datapoints"]) == (3, 400)
    assert old["RuleParameters"] == "threshold:3"


def test_hostile_names_stay_texts() -> None:
    made = reported_job(name="<b>node")
    judged(made.jobs[0].backend, made, message=HOSTILE)
    html = report_of(made.jobs[0].backend, made.jobs[0].clock).html
    assert HOSTILE not in html
    page = Page(html)
    assert HOSTILE in page.text
    assert "<b>node-a" in page.text
    assert not [tag for tag, attributes in page.tags if tag == "img" or "onerror" in attributes]
    assert sum(tag == "b" for tag, _ in page.tags) == page.text.count("What to do:")


def test_failed_job_shows_its_error_first() -> None:
    job = FakeJob()
    job.worker().step(0, {"forward": 0.1}).fail("ValueError: <no> luck").flush()
    job.fail()
    page = Page(report_of(job.backend, job.clock).html)
    assert "ValueError: <no> luck" in page.text
    assert page.text.index("Traceback of worker 0") < page.text.index("Job details")


def test_report_of_an_empty_job_has_no_empty_sections() -> None:
    job = FakeJob().end(JobState.COMPLETED)
    page = Page(report_of(job.backend, job.clock).html)
    assert "GPU utilization analysis" not in page.headings
    assert "GPU" not in page.text
    assert "Data loading analysis" not in page.headings


def test_report_is_stored_in_the_job_folder(made: Reported, report: Report) -> None:
    backend = made.jobs[0].backend
    store_report(report, backend)
    assert has_report(backend)
    assert backend.read(report_key("report.html")).decode() == report.html
    assert json.loads(backend.read(report_key("report.json")))["job"] == made.job.name


def test_rule_names_cannot_escape_the_job_folder(made: Reported, report: Report) -> None:
    backend = made.jobs[0].backend
    store_report(replace(report, rules={"../../evil": {}, "a/b": {}, "Fine": {}}), backend)
    keys = [each for each in made.jobs[0].stored(".json") if each.startswith("report/rules/")]
    assert keys == ["report/rules/Fine.json"]
    assert not made.jobs[0].stored("evil.json")


@pytest.mark.parametrize("content", ['{"learning_rate": 0.1}', "[1]", "{", "[" * 100_000])
def test_other_file_with_the_name_of_the_data_is_not_replaced(
    report: Report, tmp_path: Path, content: str
) -> None:
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(UsageError, match="which is not a report"):
        write_report(report, tmp_path / "model.html")
    assert [file.read_text() for file in tmp_path.iterdir()] == [content]


def test_report_in_a_file_can_be_replaced(report: Report, tmp_path: Path) -> None:
    for _ in range(2):
        data = write_report(report, tmp_path / "page.html")
    assert json.loads(data.read_text())["job"]


def test_report_can_be_written_to_files(report: Report, tmp_path: Path) -> None:
    data = write_report(report, tmp_path / "page.html")
    assert data == tmp_path / "page.json"
    document: dict[str, Any] = json.loads(data.read_text())
    assert document["tables"]["resources"]["units"]["p50"] == "row"
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
