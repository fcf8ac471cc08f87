"""The report opened as a file, with and without scripts."""

from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from sonde.formats import format_percent
from tests.browser.chart_data import FITS, wait_until
from tests.browser.conftest import Open
from tests.browser.recorded import REFERENCE, STEPS, Expected
from tests.browser.served import Served
from tests.browser.test_accessibility import AXE, NARROW, VIOLATIONS


def download_report(page: Page, folder: Path) -> str:
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download report").click()
    file = folder / waiting.value.suggested_filename
    waiting.value.save_as(file)
    return file.as_uri()


def test_report_is_readable_without_scripts_and_interactive_with_them(
    open_page: Open, recorded: Served, expected: Expected, tmp_path: Path
) -> None:
    address = download_report(open_page(recorded.page(REFERENCE, "rules")), tmp_path)
    static_page = open_page(address, scripts=False)
    expect(static_page).to_have_title(f"{REFERENCE}: Sonde report")
    text = static_page.locator("body")
    cpu = np.percentile(expected.values("cpu.utilization_percent"), 50)
    for fragment in (
        "2 findings: 2 warnings",
        "the gradient of body.weight is NaN at step 220",
        "ran for 2 min 10 s",
        format_percent(float(cpu)),
        f"of {STEPS} steps took longer than",
        f"{expected.losses[-1]:.3g} at step {STEPS - 1}",
    ):
        expect(text).to_contain_text(fragment)
    assert static_page.locator("figure svg").count() > 3
    page = open_page(address)
    wait_until(page, "() => document.querySelectorAll('figure .live').length > 0")
    table = page.locator("table", has=page.locator("th", has_text="p50")).first
    head = table.locator("th").filter(has_text="p50").first
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    # headers are repeated on each printed page only if they contain no button
    page.emulate_media(media="print")
    assert (
        head.get_by_role("button").evaluate("button => getComputedStyle(button).display")
        == "contents"
    )
    assert not page.locator("figure .live").first.is_visible()
    # step durations are on paper, even where no rule found anything
    assert page.locator('[data-chart="step_histogram"] svg').first.is_visible()
    page.emulate_media(media="screen")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(VIOLATIONS) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(VIOLATIONS) == []
    page.set_viewport_size({"width": NARROW, "height": 1000})
    wait_until(page, FITS)
