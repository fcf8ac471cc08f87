"""The list of jobs, and jobs side by side."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.drawn import drawn
from tests.browser.recorded import DIED, JOBS, KNOWN, RESUMED, STEPS, Known
from tests.browser.served import Served
from tests.fakes.stores import many_jobs
from tests.torture.hostile_stores import document


def names(page: Page) -> list[str]:
    return [str(one.get_attribute("data-job")) for one in page.locator("tr[data-job]").all()]


def test_every_job_stands_with_its_state_start_length_verdict_and_curve(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.address)
    expect(page.locator("tr[data-job]")).to_have_count(len(JOBS))
    assert {*names(page)} == {*JOBS}
    row = page.locator(f'tr[data-job="{KNOWN}"]')
    for said in ("completed", "2023-11-14 23:13:20 UTC+1", "2.2\u202fmin", str(STEPS)):
        expect(row).to_contain_text(said)
    expect(row.locator(".col-findings")).to_have_text("2 warnings")
    expect(row.locator(".col-verdict")).to_contain_text("loss jumped from 0.4055 to 60")
    expect(row.get_by_role("img")).to_have_attribute("aria-label", re.compile(r"^loss"))
    died = page.locator(f'tr[data-job="{DIED}"]')
    expect(died.locator(".col-state")).to_have_text("failed")
    expect(died.locator(".col-verdict")).to_contain_text("RuntimeError: mat1 and mat2")


def test_jobs_are_searched_filtered_and_sorted_and_the_address_keeps_it(
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
    again = open_page(page.url)
    expect(again.locator("tr[data-job]")).to_have_count(1)
    assert names(again) == [DIED]
    again.get_by_label("Search jobs").fill("nothing like it")
    expect(again.locator("main [data-state=empty]")).to_contain_text("No job fits")


def test_jobs_that_cannot_be_read_are_found_by_their_state(
    open_page: Open, served: Callable[[str], Served], filled: tuple[str, Known], tmp_path: Path
) -> None:
    for name in (KNOWN, DIED):
        shutil.copytree(Path(filled[0], name), tmp_path / name)
    (tmp_path / DIED / "job.json").write_bytes(document('"format": 99}'))  # of a later Sonde
    page = open_page(served(str(tmp_path)).address)
    expect(page.locator("tr[data-job]")).to_have_count(2)
    page.get_by_label("State").select_option("broken")
    expect(page.locator("tr[data-job]")).to_have_count(1)
    assert names(page) == [DIED]
    expect(page.locator(".chip.state-broken")).to_have_text("broken")


def test_jobs_are_compared_side_by_side(open_page: Open, recorded: Served, known: Known) -> None:
    page = open_page(recorded.address)
    for name in (KNOWN, DIED):
        page.get_by_label(f"Choose {name} for comparison").check()
    page.get_by_role("link", name="Compare").click()
    losses = {one["label"]: one for one in drawn(page, "compare-losses")["curves"]}
    assert losses[f"{KNOWN}: loss (train)"]["values"][:STEPS] == pytest.approx(
        known.losses, rel=1e-5
    )
    assert losses[DIED]["values"][:20] == pytest.approx([1.0 + step for step in range(20)])
    said = page.locator('[data-chart="compare-losses"] .line-readout')
    expect(said).to_contain_text(f"{DIED} 20 at step 19")
    steps = drawn(page, "compare-steps")
    assert steps["labels"] == [KNOWN, DIED]
    figures = page.locator('[data-chart="compare-figures"]')
    expect(figures.locator("tr", has_text="Training steps")).to_contain_text(str(STEPS))
    found = page.locator('[data-chart="compare-findings"] tr', has_text="LossSpike")
    expect(found.locator("td").nth(0)).to_contain_text("warning 1×")
    expect(found.locator("td").nth(1)).to_have_text("not asked")
    use = drawn(page, "compare-utilization")
    cpu = use["parts"][0]["values"][use["labels"].index("Total CPU")]
    assert cpu == pytest.approx(np.percentile(known.values("cpu.utilization_percent"), 50), abs=0.5)


def test_a_job_is_deleted_after_a_question(
    open_page: Open, served: Callable[[str], Served], filled: tuple[str, Known], tmp_path: Path
) -> None:
    for name in (KNOWN, DIED):
        shutil.copytree(Path(filled[0], name), tmp_path / name)
    page = open_page(served(str(tmp_path)).address)
    page.get_by_label(f"Delete {DIED}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"Delete {DIED}?")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_label(f"Delete {DIED}")).to_be_focused()
    assert (tmp_path / DIED).exists()
    page.get_by_label(f"Delete {DIED}").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.locator("tr[data-job]")).to_have_count(1)
    expect(page.locator(".said")).to_have_text(f"{DIED} is deleted.")
    assert not (tmp_path / DIED).exists()


def test_thousands_of_jobs_scroll_with_a_few_rows_at_a_time(
    open_page: Open, served: Callable[[str], Served], tmp_path: Path
) -> None:
    many_jobs(str(tmp_path), 1500)
    page = open_page(served(str(tmp_path)).address)
    expect(page.locator(".jobs-tools")).to_contain_text("1,500 jobs")
    expect(page.locator("tr[data-job]").first).to_have_attribute("data-job", "job-01499")
    page.locator(".jobs-box").evaluate("(box) => box.scrollTo(0, box.scrollHeight)")
    expect(page.locator('tr[data-job="job-00000"]')).to_be_visible()
    assert page.locator("tbody tr").count() < 100
