"""Charts under fingers: one drags, two zoom, a tap reads, and the page still scrolls."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.drawn import becomes, drawn
from tests.browser.fingers import Fingers, Place
from tests.browser.recorded import FLEET, KNOWN
from tests.browser.served import Served

GUTTER, RIGHT = 76, 124
TABLET = (1024, 1366)
LOW = (1024, 600)


def place(page: Page, chart: str, share: float) -> Place:
    """A place on a chart, at this share of the window."""
    area = page.locator(f'[data-chart="{chart}"]').bounding_box()
    assert area is not None
    x = area["x"] + GUTTER + share * (area["width"] - GUTTER - RIGHT)
    return x, area["y"] + area["height"] / 2


def nodes_page(
    open_page: Open, recorded: Served, more: str = "", size: tuple[int, int] = TABLET
) -> tuple[Page, Fingers]:
    page = open_page(recorded.page(KNOWN, "nodes", more), size=size, touch=True)
    for chart in ("cpu", "heatmap", "phases"):
        drawn(page, chart)
    page.evaluate("document.fonts.ready")
    return page, Fingers(page)


def phases_follow(page: Page) -> None:
    """Waits for the phases of the window: drawn in another way, they are another element."""
    becomes(page, "() => Math.abs(__sonde.chart('phases')?.window[1] - __sonde.view[1]) < 0.5")


def test_one_finger_zooms_on_lines_and_selects_on_phases(open_page: Open, recorded: Served) -> None:
    page, fingers = nodes_page(open_page, recorded)
    whole = page.evaluate("__sonde.view")
    fingers.move((place(page, "cpu", 0.25), place(page, "cpu", 0.5)))
    becomes(page, "(end) => __sonde.view[1] < end", whole[1])
    start, end = page.evaluate("__sonde.view")
    assert (start, end) == pytest.approx((0.25 * whole[1], 0.5 * whole[1]), abs=0.5)
    expect(page.locator('[data-chart="cpu"] .brush')).to_be_hidden()
    assert page.evaluate("__sonde.hover") is None
    phases_follow(page)
    page.locator('[data-chart="phases"]').scroll_into_view_if_needed()
    fingers.move((place(page, "phases", 0.2), place(page, "phases", 0.4)))
    becomes(page, "() => __sonde.selection !== null")
    selected = page.evaluate("__sonde.selection")
    assert page.evaluate("__sonde.view") == [start, end]
    wanted = [start + share * (end - start) for share in (0.2, 0.4)]
    assert selected == pytest.approx(wanted, abs=0.5)


def test_two_fingers_zoom_and_move_the_window_of_all_charts(
    open_page: Open, recorded: Served
) -> None:
    page, fingers = nodes_page(open_page, recorded, "sel=10-20")
    end = page.evaluate("__sonde.view")[1]
    fingers.move(
        (place(page, "cpu", 0.4), place(page, "cpu", 0.25)),
        (place(page, "cpu", 0.6), place(page, "cpu", 0.75)),
    )
    becomes(page, "(wide) => __sonde.view[1] - __sonde.view[0] < wide / 2", end)
    zoomed = page.evaluate("__sonde.view")
    assert zoomed == pytest.approx([0.3 * end, 0.7 * end], abs=0.02 * end)
    becomes(page, "(start) => __sonde.chart('heatmap').heat.start > start", 0.2 * end)
    phases_follow(page)
    fingers.move(
        (place(page, "phases", 0.6), place(page, "phases", 0.35)),
        (place(page, "phases", 0.8), place(page, "phases", 0.55)),
    )
    becomes(page, "(start) => __sonde.view[0] > start", zoomed[0] + 1)
    moved = page.evaluate("__sonde.view")
    assert moved[1] - moved[0] == pytest.approx(zoomed[1] - zoomed[0], rel=0.02)
    assert page.evaluate("__sonde.selection") == [10, 20]


def test_a_tap_reads_the_values_until_the_next_touch(open_page: Open, recorded: Served) -> None:
    page, fingers = nodes_page(open_page, recorded)
    end = page.evaluate("__sonde.view")[1]
    last = page.locator('[data-chart="cpu"] .readout').inner_text()
    fingers.tap(place(page, "cpu", 0.25))
    becomes(page, "() => __sonde.hover !== null")
    assert page.evaluate("__sonde.hover") == pytest.approx(0.25 * end, abs=0.5)
    expect(page.locator('[data-chart="cpu"] .cross')).to_be_visible()
    expect(page.locator('[data-chart="cpu"] .readout')).not_to_have_text(last)
    tip = page.locator('[data-chart="heatmap"] .tip')
    fingers.tap(place(page, "heatmap", 0.75))
    expect(tip).to_contain_text("%")
    assert page.evaluate("__sonde.hover") == pytest.approx(0.75 * end, abs=0.5)
    fingers.tap((2, 2))
    becomes(page, "() => __sonde.hover === null")
    expect(tip).to_be_hidden()


def test_a_tap_that_opens_another_view_leaves_nothing_behind(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(FLEET, "nodes"), size=TABLET, touch=True)
    drawn(page, "fleet")
    Fingers(page).tap(place(page, "fleet", 0.5))
    drawn(page, "cpu")
    becomes(page, "() => __sonde.hover === null")


def test_a_swipe_up_over_a_chart_scrolls_the_page_and_changes_nothing(
    open_page: Open, recorded: Served
) -> None:
    page, fingers = nodes_page(open_page, recorded, "sel=10-20", LOW)
    page.locator('[data-chart="phases"]').scroll_into_view_if_needed()
    before, whole = page.evaluate("[scrollY, __sonde.view]")
    x, y = place(page, "phases", 0.3)
    fingers.move(((x, y), (x + 12, y - 300)))
    becomes(page, "(before) => scrollY > before + 100", before)
    assert page.evaluate("[__sonde.view, __sonde.selection]") == [whole, [10, 20]]
    expect(page.locator('[data-chart="phases"] .brush')).to_be_hidden()


def test_a_double_tap_shows_all(open_page: Open, recorded: Served) -> None:
    page, fingers = nodes_page(open_page, recorded, "t=20-40")
    fingers.tap(place(page, "cpu", 0.5), times=2)
    becomes(page, "() => __sonde.view[0] === 0")


def test_one_finger_zooms_on_curves_over_steps(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(KNOWN, "overview"), size=TABLET, touch=True)
    plot = page.locator('[data-chart="losses"] .u-over').first
    plot.scroll_into_view_if_needed()
    area = plot.bounding_box()
    assert area is not None
    middle = area["y"] + area["height"] / 2
    begin, end = ((area["x"] + share * area["width"], middle) for share in (0.25, 0.75))
    Fingers(page).move((begin, end))
    everything = page.locator('[data-chart="losses"]').get_by_role("button", name="all steps")
    everything.click()
    expect(everything).to_have_count(0)
