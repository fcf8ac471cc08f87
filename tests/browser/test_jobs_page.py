"""The Jobs and Compare pages."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.chart_data import chart_data
from tests.browser.conftest import Open
from tests.browser.recorded import FAILED, JOBS, REFERENCE, RESUMED, STEPS, Expected
from tests.browser.served import Served
from tests.fakes.job import FakeJob
from tests.fakes.stores import many_jobs
from tests.torture.hostile_stores import document


def names(page: Page) -> list[str]:
    return [str(row.get_attribute("data-job")) for row in page.locator("tr[data-job]").all()]


def test_jobs_are_listed_with_state_start_duration_verdict_and_sparkline(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.address)
    expect(page.locator("tr[data-job]")).to_have_count(len(JOBS))
    assert {*names(page)} == {*JOBS}
    row = page.locator(f'tr[data-job="{REFERENCE}"]')
    for text in ("completed", "2023-11-14 23:13:20 UTC+1", "2\u202fmin 10\u202fs", str(STEPS)):
        expect(row).to_contain_text(text)
    expect(row.locator(".col-findings")).to_have_text("2 warnings")
    expect(row.locator(".col-verdict")).to_contain_text("body.weight is NaN at step 220")
    expect(row.get_by_role("img")).to_have_attribute("aria-label", re.compile(r"^loss"))
    died = page.locator(f'tr[data-job="{FAILED}"]')
    expect(died.locator(".col-state")).to_have_text("failed")
    expect(died.locator(".col-verdict")).to_contain_text("RuntimeError: mat1 and mat2")


def test_jobs_can_be_searched_filtered_and_sorted_and_the_url_keeps_the_choice(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.address)
    page.get_by_role("button", name="Job", exact=True).click()
    expect(page.locator("th.col-name")).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("tr[data-job]").last).to_have_attribute("data-job", RESUMED)
    assert names(page) == sorted(names(page))
    page.get_by_label("State").select_option("failed")
    expect(page.locator("tr[data-job]")).to_have_count(2)
    page.get_by_label("Search jobs").fill("mat1")
    expect(page.locator("tr[data-job]")).to_have_count(1)
    expect(page).to_have_url(re.compile("search=mat1"))
    reopened = open_page(page.url)
    expect(reopened.locator("tr[data-job]")).to_have_count(1)
    assert names(reopened) == [FAILED]
    reopened.get_by_label("Search jobs").fill("nothing like it")
    expect(reopened.locator("main [data-state=empty]")).to_contain_text("No matching jobs")


def test_unreadable_jobs_can_be_filtered_by_state(
    open_page: Open, served: Callable[[str], Served], filled: tuple[str, Expected], tmp_path: Path
) -> None:
    for name in (REFERENCE, FAILED):
        shutil.copytree(Path(filled[0], name), tmp_path / name)
    (tmp_path / FAILED / "job.json").write_bytes(document('"format": 99}'))  # from a newer Sonde
    page = open_page(served(str(tmp_path)).address)
    expect(page.locator("tr[data-job]")).to_have_count(2)
    page.get_by_label("State").select_option("broken")
    expect(page.locator("tr[data-job]")).to_have_count(1)
    assert names(page) == [FAILED]
    expect(page.locator(".chip.state-broken")).to_have_text("broken")


def test_selected_jobs_are_compared_side_by_side(
    open_page: Open, recorded: Served, expected: Expected
) -> None:
    page = open_page(recorded.address)
    for name in (REFERENCE, FAILED):
        page.get_by_label(f"Select {name} for comparison").check()
    page.get_by_role("link", name="Compare").click()
    losses = {curve["label"]: curve for curve in chart_data(page, "compare-losses")["curves"]}
    assert losses[f"{REFERENCE}: loss (train)"]["values"][:STEPS] == pytest.approx(
        expected.losses, rel=1e-5
    )
    assert losses[FAILED]["values"][:20] == pytest.approx([1.0 + step for step in range(20)])
    readout = page.locator('[data-chart="compare-losses"] .line-readout')
    expect(readout).to_contain_text(f"{FAILED} 20 at step 19")
    steps = chart_data(page, "compare-steps")
    assert steps["labels"] == [REFERENCE, FAILED]
    figures = page.locator('[data-chart="compare-figures"]')
    expect(figures.locator("tr", has_text="Training steps")).to_contain_text(str(STEPS))
    findings = page.locator('[data-chart="compare-findings"] tr', has_text="LossSpike")
    expect(findings.locator("td").nth(0)).to_contain_text("warning 1×")
    expect(findings.locator("td").nth(1)).to_have_text("not run")
    conclusions = page.locator('[data-chart="compare-conclusions"]')
    expect(conclusions).to_contain_text(f"{REFERENCE} and {FAILED} diverge at step 0: loss")
    expect(page.locator('[data-chart="compare-step-times"]')).to_contain_text("forward")
    assert chart_data(page, "compare-training-loss")["x_title"] == "Step"
    page.get_by_label("Align by").select_option("time")
    expect(page.get_by_text("Time since the first step").first).to_be_attached()
    use = chart_data(page, "compare-utilization")
    cpu = use["parts"][0]["values"][use["labels"].index("Total CPU")]
    assert cpu == pytest.approx(
        np.percentile(expected.values("cpu.utilization_percent"), 50), abs=0.5
    )


def test_comparison_shows_the_other_jobs_if_one_was_deleted_or_did_not_train(
    open_page: Open, served: Callable[[str], Served], filled: tuple[str, Expected], tmp_path: Path
) -> None:
    for name in (REFERENCE, FAILED):
        shutil.copytree(Path(filled[0], name), tmp_path / name)
    FakeJob(str(tmp_path / "sleep")).end()
    address = served(str(tmp_path)).address
    missing = "the server responded with a status of 404"
    page = open_page(
        f"{address}#/compare?jobs={REFERENCE},gone,sleep,{FAILED}", expected=(missing,)
    )
    expect(page.locator("main [data-state=error]")).to_contain_text("gone: ")
    figures = page.locator('[data-chart="compare-figures"]')
    expect(figures.locator("thead th")).to_have_text(["Metric", REFERENCE, "sleep", FAILED])
    steps = figures.locator("tr", has_text="Training steps").locator("td")
    expect(steps.nth(0)).to_contain_text(str(STEPS))
    expect(steps.nth(1)).to_have_text("–")
    assert chart_data(page, "compare-steps")["labels"] == [REFERENCE, FAILED]


def test_jobs_are_tagged_searched_by_fields_and_deleted_together(
    open_page: Open, tmp_path: Path, served: Callable[[str], Served]
) -> None:
    many_jobs(str(tmp_path), 6)
    page = open_page(served(str(tmp_path)).address)
    page.get_by_label("Tags and note of job-00003").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Tags").fill("baseline slow")
    dialog.get_by_label("Group").fill("sweep-3")
    dialog.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="baseline").click()
    expect(page.locator("tr[data-job]")).to_have_count(1)
    assert names(page) == ["job-00003"]
    page.get_by_label("Search jobs").fill("-tag:baseline rule:LossSpike")
    expect(page.locator("tr[data-job]")).to_have_count(2)
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Name of the filter").fill("spikes")
    page.get_by_role("button", name="Save this filter").click()
    page.get_by_label("Search jobs").fill("")
    expect(page.locator("tr[data-job]")).to_have_count(6)
    page.get_by_role("button", name="spikes", exact=True).click()
    expect(page.locator("tr[data-job]")).to_have_count(2)
    page.keyboard.press("Escape")
    for name in ("job-00001", "job-00005"):
        page.get_by_label(f"Select {name} for comparison").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("job-00001, job-00005")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".toast")).to_have_text("Deleted 2 jobs.")
    assert not (tmp_path / "job-00005").exists()


def test_job_is_deleted_after_confirmation(
    open_page: Open, served: Callable[[str], Served], filled: tuple[str, Expected], tmp_path: Path
) -> None:
    for name in (REFERENCE, FAILED):
        shutil.copytree(Path(filled[0], name), tmp_path / name)
    page = open_page(served(str(tmp_path)).address)
    page.get_by_label(f"Delete {FAILED}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"Delete {FAILED}?")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_label(f"Delete {FAILED}")).to_be_focused()
    assert (tmp_path / FAILED).exists()
    page.get_by_label(f"Delete {FAILED}").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.locator("tr[data-job]")).to_have_count(1)
    expect(page.locator(".toast")).to_have_text(f"Deleted {FAILED}.")
    assert not (tmp_path / FAILED).exists()


def test_long_list_renders_only_the_visible_rows(
    open_page: Open, served: Callable[[str], Served], tmp_path: Path
) -> None:
    many_jobs(str(tmp_path), 1500)
    page = open_page(served(str(tmp_path)).address)
    expect(page.locator(".jobs-tools")).to_contain_text("1,500 jobs")
    expect(page.locator("tr[data-job]").first).to_have_attribute("data-job", "job-01499")
    page.locator(".jobs-box").evaluate("(box) => box.scrollTo(0, box.scrollHeight)")
    expect(page.locator('tr[data-job="job-00000"]')).to_be_visible()
    assert page.locator("tbody tr").count() < 100
