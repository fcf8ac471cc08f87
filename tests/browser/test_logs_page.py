"""The Logs page: output with steps and findings, searched, and limited to the time window."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from sonde.records.finding import Finding, Severity
from tests.browser.conftest import Open
from tests.browser.served import Served
from tests.fakes.job import FakeJob
from tests.fakes.stores import write_findings


@pytest.fixture
def printing(tmp_path: Path, served: Callable[[str], Served]) -> Served:
    job = FakeJob(str(tmp_path / "job"))
    worker = job.worker()
    for step in range(40):
        worker.step(step, {"forward": 1.0})
        worker.line(f"step {step} loss {1 / (step + 1):.3f}", step)
    worker.line("<b>nan</b> detected", 39, "stderr").line("12", 39, "omitted")
    worker.flush().beat(is_over=True)
    write_findings(job.backend, [Finding("LossSpike", Severity.WARNING, "The loss jumped.")])
    job.end()
    return served(str(tmp_path))


def test_output_is_shown_with_steps_searched_and_limited_to_the_window(
    open_page: Open, printing: Served
) -> None:
    page = open_page(printing.page("job", "logs"), expected=("400",))
    rows = page.locator(".log tr:not(.log-finding)")
    expect(rows).to_have_count(42)
    expect(rows.nth(3)).to_contain_text("step 3 loss 0.250")
    expect(rows.nth(40)).to_have_text(re.compile("<b>nan</b> detected"))
    expect(rows.nth(41)).to_contain_text("… 12 lines omitted")
    page.get_by_label("Search lines").fill("NAN|loss 1")
    expect(rows).to_have_count(2)
    expect(page).to_have_url(re.compile("find=NAN"))
    page.get_by_label("Stream").select_option("stderr")
    expect(rows).to_have_count(1)
    page.get_by_label("Search lines").fill("(")
    expect(page.locator("main")).to_contain_text("is not a regular expression")
    page = open_page(printing.page("job", "logs") + "?t=10-20")
    expect(page.locator(".log tr:not(.log-finding)")).to_have_count(10)
    page.locator(".log a").first.click()
    expect(page).to_have_url(re.compile("timeline.t="))


def test_a_job_without_output_says_what_is_recorded(
    open_page: Open, served: Callable[[str], Served], tmp_path: Path
) -> None:
    FakeJob(str(tmp_path / "quiet")).end()
    page = open_page(served(str(tmp_path)).page("quiet", "logs"))
    expect(page.locator("main [data-state=empty]")).to_contain_text("No lines recorded")
