"""Share what a page shows: a link to the view, a chart as an image, and its data as CSV."""

import csv
from base64 import b64encode
from io import StringIO
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.recorded import REFERENCE, Expected
from tests.browser.served import Served

PHONE = (390, 844)
_COUNT_COLORS = """async (source) => {
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  const g = canvas.getContext("2d");
  g.drawImage(image, 0, 0);
  const { data } = g.getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""


def count_colors(page: Page, image: bytes) -> int:
    """Return the number of colors of a PNG image; an empty one has a single color."""
    source = f"data:image/png;base64,{b64encode(image).decode()}"
    count: int = page.evaluate(_COUNT_COLORS, source)
    return count


def saved(page: Page, chart: str, item: str, folder: Path) -> Path:
    """Save a chart with the keyboard."""
    page.get_by_role("button", name=f"Save {chart}", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name=item).focus()
    with page.expect_download() as info:
        page.keyboard.press("Enter")
    path = folder / info.value.suggested_filename
    info.value.save_as(path)
    return path


def test_chart_is_saved_as_csv_and_image(
    open_page: Open, recorded: Served, tmp_path: Path, expected: Expected
) -> None:
    page = open_page(recorded.page(REFERENCE, "overview"))
    table = saved(page, "Losses", "Data (CSV)", tmp_path)
    assert table.name == f"{REFERENCE}-Losses.csv"
    head, *rows = list(csv.reader(StringIO(table.read_text())))
    assert head[0] == "Step"
    training = [float(row[1]) for row in rows if row[1]]
    assert training == pytest.approx(expected.losses, rel=1e-5)
    image = saved(page, "Losses", "Image (PNG)", tmp_path).read_bytes()
    assert count_colors(page, image) > 20


def test_chart_over_time_is_saved_on_a_phone(
    open_page: Open, recorded: Served, tmp_path: Path
) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"), size=PHONE)
    image = saved(page, "CPU", "Image (PNG)", tmp_path).read_bytes()
    assert count_colors(page, image) > 20


def test_copied_link_opens_the_same_view(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes", "t=40-50&sel=42-45"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("status").filter(has_text="Link copied.")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert "token" not in link
    other = open_page(link)
    expect(other.get_by_label("Time window")).to_contain_text("0:42")
