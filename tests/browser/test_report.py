"""The report as people open it: a file, with scripts and without."""

from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from sonde.formats import format_percent
from tests.browser.conftest import Open
from tests.browser.drawn import FITS, becomes
from tests.browser.recorded import KNOWN, STEPS, Known
from tests.browser.served import Served
from tests.browser.test_accessibility import AXE, NARROW, VIOLATIONS


def downloaded(page: Page, folder: Path) -> str:
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download report").click()
    kept = folder / waiting.value.suggested_filename
    waiting.value.save_as(kept)
    return kept.as_uri()


def test_a_report_is_readable_without_scripts_and_alive_with_them(
    open_page: Open, recorded: Served, known: Known, tmp_path: Path
) -> None:
    address = downloaded(open_page(recorded.page(KNOWN, "rules")), tmp_path)
    still = open_page(address, scripts=False)
    expect(still).to_have_title(f"{KNOWN}: Sonde report")
    text = still.locator("body")
    cpu = np.percentile(known.values("cpu.utilization_percent"), 50)
    for said in (
        "2 findings: 2 warnings",
        "the gradient of body.weight is NaN at step 220",
        "ran for 2 min 10 s",
        format_percent(float(cpu)),
        f"of {STEPS} steps took longer than",
        f"{known.losses[-1]:.3g} at step {STEPS - 1}",
    ):
        expect(text).to_contain_text(said)
    assert still.locator("figure svg").count() > 3
    page = open_page(address)
    becomes(page, "() => document.querySelectorAll('figure .live').length > 0")
    table = page.locator("table", has=page.locator("th", has_text="p50")).first
    head = table.locator("th").filter(has_text="p50").first
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    # on paper a head is repeated on the next sheet, which it is not with a button in it
    page.emulate_media(media="print")
    assert head.get_by_role("button").evaluate("one => getComputedStyle(one).display") == "contents"
    assert not page.locator("figure .live").first.is_visible()
    page.emulate_media(media="screen")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(VIOLATIONS) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(VIOLATIONS) == []
    page.set_viewport_size({"width": NARROW, "height": 1000})
    becomes(page, FITS)
