"""Touch control of charts: drag, pinch, tap, and scrolling of the page."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chart_data import chart_data, wait_until
from tests.browser.conftest import Open
from tests.browser.recorded import FLEET, REFERENCE
from tests.browser.served import Served
from tests.browser.touch_input import Fingers, Point

GUTTER, RIGHT = 76, 124
TABLET = (1024, 1366)
LOW = (1024, 600)


def point_on(page: Page, chart: str, share: float) -> Point:
    """A point on a chart at a fraction of its width."""
    area = page.locator(f'[data-chart="{chart}"]').bounding_box()
    assert area is not None
    x = area["x"] + GUTTER + share * (area["width"] - GUTTER - RIGHT)
    return x, area["y"] + area["height"] / 2


def nodes_page(
    open_page: Open, recorded: Served, more: str = "", size: tuple[int, int] = TABLET
) -> tuple[Page, Fingers]:
    page = open_page(recorded.page(REFERENCE, "nodes", more), size=size, touch=True)
    for chart in ("cpu", "heatmap", "phases"):
        chart_data(page, chart)
    page.evaluate("document.fonts.ready")
    return page, Fingers(page)


def wait_for_phases(page: Page) -> None:
    """Wait until the phases show the current window; a new style replaces the element."""
    wait_until(page, "() => Math.abs(__sonde.chart('phases')?.window[1] - __sonde.view[1]) < 0.5")


def test_one_finger_drag_zooms_lines_and_selects_on_phases(
    open_page: Open, recorded: Served
) -> None:
    page, fingers = nodes_page(open_page, recorded)
    full_view = page.evaluate("__sonde.view")
    fingers.move((point_on(page, "cpu", 0.25), point_on(page, "cpu", 0.5)))
    wait_until(page, "(end) => __sonde.view[1] < end", full_view[1])
    start, end = page.evaluate("__sonde.view")
    assert (start, end) == pytest.approx((0.25 * full_view[1], 0.5 * full_view[1]), abs=0.5)
    expect(page.locator('[data-chart="cpu"] .brush')).to_be_hidden()
    assert page.evaluate("__sonde.hover") is None
    wait_for_phases(page)
    page.locator('[data-chart="phases"]').scroll_into_view_if_needed()
    fingers.move((point_on(page, "phases", 0.2), point_on(page, "phases", 0.4)))
    wait_until(page, "() => __sonde.selection !== null")
    selected = page.evaluate("__sonde.selection")
    assert page.evaluate("__sonde.view") == [start, end]
    expected_range = [start + share * (end - start) for share in (0.2, 0.4)]
    assert selected == pytest.approx(expected_range, abs=0.5)


def test_two_fingers_zoom_and_pan_all_charts(open_page: Open, recorded: Served) -> None:
    page, fingers = nodes_page(open_page, recorded, "sel=10-20")
    end = page.evaluate("__sonde.view")[1]
    fingers.move(
        (point_on(page, "cpu", 0.4), point_on(page, "cpu", 0.25)),
        (point_on(page, "cpu", 0.6), point_on(page, "cpu", 0.75)),
    )
    wait_until(page, "(wide) => __sonde.view[1] - __sonde.view[0] < wide / 2", end)
    zoomed = page.evaluate("__sonde.view")
    assert zoomed == pytest.approx([0.3 * end, 0.7 * end], abs=0.02 * end)
    wait_until(page, "(start) => __sonde.chart('heatmap').heat.start > start", 0.2 * end)
    wait_for_phases(page)
    fingers.move(
        (point_on(page, "phases", 0.6), point_on(page, "phases", 0.35)),
        (point_on(page, "phases", 0.8), point_on(page, "phases", 0.55)),
    )
    wait_until(page, "(start) => __sonde.view[0] > start", zoomed[0] + 1)
    moved = page.evaluate("__sonde.view")
    assert moved[1] - moved[0] == pytest.approx(zoomed[1] - zoomed[0], rel=0.02)
    assert page.evaluate("__sonde.selection") == [10, 20]


def test_tap_shows_values_until_the_next_touch(open_page: Open, recorded: Served) -> None:
    page, fingers = nodes_page(open_page, recorded)
    end = page.evaluate("__sonde.view")[1]
    last = page.locator('[data-chart="cpu"] .readout').inner_text()
    fingers.tap(point_on(page, "cpu", 0.25))
    wait_until(page, "() => __sonde.hover !== null")
    assert page.evaluate("__sonde.hover") == pytest.approx(0.25 * end, abs=0.5)
    expect(page.locator('[data-chart="cpu"] .cross')).to_be_visible()
    expect(page.locator('[data-chart="cpu"] .readout')).not_to_have_text(last)
    tip = page.locator('[data-chart="heatmap"] .tip')
    fingers.tap(point_on(page, "heatmap", 0.75))
    expect(tip).to_contain_text("%")
    assert page.evaluate("__sonde.hover") == pytest.approx(0.75 * end, abs=0.5)
    fingers.tap((2, 2))
    wait_until(page, "() => __sonde.hover === null")
    expect(tip).to_be_hidden()


def test_tap_that_opens_another_view_clears_the_hover_time(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(FLEET, "nodes"), size=TABLET, touch=True)
    chart_data(page, "fleet")
    Fingers(page).tap(point_on(page, "fleet", 0.5))
    chart_data(page, "cpu")
    wait_until(page, "() => __sonde.hover === null")


def test_vertical_swipe_over_a_chart_scrolls_the_page(open_page: Open, recorded: Served) -> None:
    page, fingers = nodes_page(open_page, recorded, "sel=10-20", LOW)
    page.locator('[data-chart="phases"]').scroll_into_view_if_needed()
    before, full_view = page.evaluate("[scrollY, __sonde.view]")
    x, y = point_on(page, "phases", 0.3)
    fingers.move(((x, y), (x + 12, y - 300)))
    wait_until(page, "(before) => scrollY > before + 100", before)
    assert page.evaluate("[__sonde.view, __sonde.selection]") == [full_view, [10, 20]]
    expect(page.locator('[data-chart="phases"] .brush')).to_be_hidden()


def test_double_tap_resets_the_zoom(open_page: Open, recorded: Served) -> None:
    page, fingers = nodes_page(open_page, recorded, "t=20-40")
    fingers.tap(point_on(page, "cpu", 0.5), times=2)
    wait_until(page, "() => __sonde.view[0] === 0")


def test_one_finger_drag_zooms_curves_over_steps(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(REFERENCE, "overview"), size=TABLET, touch=True)
    plot = page.locator('[data-chart="losses"] .u-over').first
    plot.scroll_into_view_if_needed()
    area = plot.bounding_box()
    assert area is not None
    middle = area["y"] + area["height"] / 2
    begin, end = ((area["x"] + share * area["width"], middle) for share in (0.25, 0.75))
    Fingers(page).move((begin, end))
    everything = page.locator('[data-chart="losses"]').get_by_role("button", name="All steps")
    everything.click()
    expect(everything).to_have_count(0)
