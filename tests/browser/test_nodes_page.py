"""The page Nodes: one window, one selection, and numbers that are those of the store."""

import re
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.drawn import becomes, drawn
from tests.browser.recorded import FLEET, KNOWN, LARGE, SLOW_STEPS, STEPS, Known
from tests.browser.served import Served

GUTTER, RIGHT = 76, 124
CPU = "cpu.utilization_percent"
# A selection that cuts stretches in two at both of its ends.
CUT = (47.33, 61.71)

# How many colors a canvas shows: one that nobody drew on has a single one.
_COLORS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""


def line(page: Page, chart: str, label: str) -> list[float]:
    lines = {one["label"]: one for one in drawn(page, chart)["lines"]}
    found: list[float] = lines[label]["mean"]
    return found


def drag(page: Page, chart: str, start: float, end: float) -> None:
    """From one share of the window to another."""
    box = page.locator(f'[data-chart="{chart}"]')
    box.scroll_into_view_if_needed()
    area = box.bounding_box()
    assert area is not None
    plot = area["width"] - GUTTER - RIGHT
    y = area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + GUTTER + start * plot, y)
    page.mouse.down()
    page.mouse.move(area["x"] + GUTTER + end * plot, y, steps=4)
    page.mouse.up()


def test_lines_and_heatmap_are_what_was_sampled(
    open_page: Open, recorded: Served, known: Known
) -> None:
    page = open_page(recorded.page(KNOWN, "nodes"))
    mean = np.mean([known.values(f"{CPU}/cpu{core}") for core in range(4)], axis=0)
    assert line(page, "cpu", "mean") == pytest.approx(mean, abs=0.3)
    assert line(page, "network", "sent") == pytest.approx([2e6] * STEPS)
    assert line(page, "network", "received") == pytest.approx(
        known.values("network.receive_bytes_per_second/eth0")
    )
    expect(page.get_by_label("GPU", exact=True)).to_contain_text("1 of 2 GPUs busy")
    assert line(page, "gpuMemory", "mean") == pytest.approx([26.0] * STEPS, abs=0.3)
    assert line(page, "system", "I/O wait") == pytest.approx(
        known.values("cpu.iowait_percent"), abs=0.3
    )
    heat = drawn(page, "heatmap")
    assert [one["device"] for one in heat["devices"]] == [
        *("cpu0", "cpu1", "cpu2", "cpu3", "gpu0", "gpu1")
    ]
    codes = np.array(heat["heat"]["codes"]).reshape(6, -1)
    assert codes[3][codes[3] <= 200].mean() / 2 == pytest.approx(known.mean(f"{CPU}/cpu3"), abs=1.0)
    assert set(codes[5][codes[5] <= 200]) == {0}
    gpus = next(one for one in heat["layout"]["groups"] if one["kind"] == "gpu")
    below_the_first = gpus["top"] + 1.5 * gpus["rowHeight"]
    page.locator('[data-chart="heatmap"]').hover(position={"x": GUTTER + 300, "y": below_the_first})
    expect(page.locator('[data-chart="heatmap"] .tip')).to_have_text(re.compile(r"^gpu1 · .* · 0"))
    for chart in ("cpu", "heatmap", "phases"):
        assert page.locator(f'[data-chart="{chart}"] canvas').evaluate(_COLORS) > 4


def test_cores_are_picked_by_number_by_click_and_in_the_address(
    open_page: Open, recorded: Served, known: Known
) -> None:
    page = open_page(recorded.page(KNOWN, "nodes"))
    page.get_by_role("button", name="Pick cores").click()
    page.get_by_label("cores by number").fill("1,3")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="cores 1,3")).to_be_visible()
    becomes(page, "() => __sonde.chart('cpu').lines.length === 3")
    assert line(page, "cpu", "cpu3") == pytest.approx(known.values(f"{CPU}/cpu3"), abs=0.3)
    page.keyboard.press("Escape")
    box = page.locator('[data-chart="heatmap"]')
    place = next(one for one in drawn(page, "heatmap")["layout"]["groups"] if one["kind"] == "gpu")
    box.click(position={"x": GUTTER + 300, "y": place["top"] + place["rowHeight"] / 2})
    becomes(page, "() => __sonde.chart('gpu').lines.length === 2")
    expect(page).to_have_url(re.compile("cores=1,3&gpus=0"))
    again = open_page(page.url)
    becomes(again, "() => window.__sonde?.chart('cpu')?.lines.length === 3")
    becomes(again, "() => __sonde.chart('gpu')?.lines.length === 2")
    assert [one["label"] for one in drawn(again, "gpu")["lines"]] == ["mean", "gpu0"]


def test_a_drag_zooms_every_chart_and_a_double_click_shows_all(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(KNOWN, "nodes"))
    drawn(page, "heatmap")
    whole = page.evaluate("__sonde.view")
    points = len(line(page, "cpu", "mean"))
    asked: list[str] = []
    page.on("request", lambda one: asked.append(urlsplit(one.url).path.rpartition("/")[2]))
    drag(page, "cpu", 0.25, 0.5)
    becomes(page, "() => __sonde.chart('breakdown').t0 - __sonde.job.t0 > 25")
    assert sorted(asked) == ["breakdown", "heat", "series", "spans"]
    [start, end] = page.evaluate("__sonde.view")
    assert start == pytest.approx(0.25 * whole[1], abs=0.3)
    assert end == pytest.approx(0.5 * whole[1], abs=0.3)
    expect(page).to_have_url(re.compile("t=32"))
    for chart in ("cpu", "network", "system"):
        becomes(page, "([name, most]) => __sonde.chart(name).x.length < most", [chart, points])
    becomes(page, "() => __sonde.chart('heatmap').heat.start > 25")
    becomes(page, "() => __sonde.chart('phases').window[0] > 25")
    expect(page.locator(".time-bar")).to_contain_text("of 2.2\u202fmin")
    page.locator('[data-chart="cpu"]').dblclick(position={"x": 400, "y": 50})
    becomes(page, "(end) => __sonde.view[1] === end", whole[1])
    page.locator('[data-chart="cpu"]').hover(position={"x": 600, "y": 50})
    before = page.evaluate("__sonde.hover")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    becomes(page, "(end) => __sonde.view[1] < end", whole[1])
    [start, end] = page.evaluate("__sonde.view")
    assert start < before < end


def test_totals_of_a_brush_are_exact(open_page: Open, recorded: Served, known: Known) -> None:
    page = open_page(recorded.page(KNOWN, "nodes", f"sel={CUT[0]}-{CUT[1]}"))
    shown = drawn(page, "breakdown")
    phases = {one["name"]: one for one in shown["phases"]}
    for name, (count, seconds) in known.phase_seconds(*CUT).items():
        assert phases[name]["count"] == count
        # edges go to the server as seconds since 1970, which are exact to a quarter microsecond
        assert phases[name]["seconds"] == pytest.approx(seconds, abs=5e-7)
    system = shown["system"]["range"]
    assert system["cpu.iowait_percent"]["mean"] == pytest.approx(
        known.mean("cpu.iowait_percent", *CUT)
    )
    assert system["gpu.utilization_percent"]["devices"]["gpu0"] == pytest.approx(
        known.mean("gpu.utilization_percent/gpu0", *CUT)
    )
    table = page.locator('[data-chart="breakdown"]')
    expect(table).to_contain_text("in the selection")
    waited = known.phase_seconds(*CUT)["data_wait"]
    expect(table.locator("tr[data-phase=data_wait]")).to_contain_text(f"{waited[1]:.2f}\u202fs")
    table.get_by_label("Parts of forward").click()
    expect(table.locator("tr.child").first).to_contain_text("body")
    drag(page, "phases", 0.1, 0.3)
    becomes(page, "(start) => __sonde.selection[0] < start", CUT[0])
    brushed_range = page.evaluate("__sonde.selection")
    becomes(
        page,
        """([start, end]) => {
          const { t0, t1 } = __sonde.chart("breakdown"), zero = __sonde.job.t0;
          return Math.abs(t0 - zero - start) < 1e-3 && Math.abs(t1 - zero - end) < 1e-3;
        }""",
        brushed_range,
    )
    brushed = {one["name"]: one["seconds"] for one in drawn(page, "breakdown")["phases"]}
    for name, (_, seconds) in known.phase_seconds(*brushed_range).items():
        assert brushed[name] == pytest.approx(seconds, abs=1e-4)
    page.get_by_role("button", name="Clear").first.click()
    becomes(page, "() => __sonde.selection === null")


def test_the_last_steps_stand_in_bars_and_earlier_ones_are_reached(
    open_page: Open, recorded: Served, known: Known
) -> None:
    page = open_page(recorded.page(KNOWN, "nodes"))
    found = drawn(page, "steps")
    assert [one["step"] for one in found["steps"]] == [*range(STEPS - 30, STEPS)]
    assert found["median_seconds"] == pytest.approx(0.5)
    card = page.locator('[data-chart="steps"]')
    for _ in range(4):
        first = page.evaluate("__sonde.chart('steps').steps[0].step")
        card.get_by_label("Earlier steps").click()
        becomes(page, "(first) => __sonde.chart('steps').steps[0].step < first", first)
    slow = {one["step"]: one for one in drawn(page, "steps")["steps"]}[SLOW_STEPS[0]]
    assert slow["phases"]["data_wait"] == pytest.approx(0.55)
    assert slow["seconds"] == pytest.approx(1.0)
    bar = card.get_by_label(re.compile(f"^Step {SLOW_STEPS[0]}: 1.00"))
    bar.focus()
    bar.press("Enter")
    begin = known.times[SLOW_STEPS[0]]
    assert page.evaluate("__sonde.selection") == pytest.approx([begin, begin + 1.0], abs=1e-3)


def test_everything_can_be_done_with_keys_and_read_as_a_table(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(KNOWN, "nodes"))
    drawn(page, "heatmap")
    page.locator('[data-chart="heatmap"] canvas').focus()
    whole = page.evaluate("__sonde.view")
    page.keyboard.press("+")
    assert page.evaluate("__sonde.view")[1] < whole[1]
    for key in (".", "s"):
        page.keyboard.press(key)
    start, end = page.evaluate("__sonde.selection")
    assert 0 < start < end < whole[1]
    page.keyboard.press("Escape")
    assert page.evaluate("__sonde.selection") is None
    page.keyboard.press("0")
    assert page.evaluate("__sonde.view") == whole
    for title, cell in (
        ("CPU", "500\u202fms"),
        ("Cores and GPUs", "gpu1"),
        ("Framework phases", "forward"),
    ):
        block = page.get_by_label(title, exact=True).and_(page.locator("section"))
        block.get_by_role("button", name="Show as table").click()
        expect(block.locator("tbody")).to_contain_text(cell)


def test_256_cores_and_64_gpus_have_a_row_each(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(LARGE, "nodes"))
    heat = drawn(page, "heatmap")
    assert len(heat["devices"]) == 320
    assert heat["heat"]["rows"] == 320
    expect(page.get_by_role("combobox", name="worker", exact=True)).to_be_visible()


def test_many_nodes_are_ranked_by_how_they_differ(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(FLEET, "nodes"))
    fleet = drawn(page, "fleet")
    assert len(fleet["nodes"]) == 64
    ranking = page.locator('[data-chart="ranking"]')
    expect(ranking).to_contain_text("1 of 64 nodes stands out")
    expect(ranking.locator("li").first).to_contain_text("node-0063")
    page.get_by_role("combobox", name="metric", exact=True).select_option("cpu.iowait_percent")
    becomes(page, "() => __sonde.chart('fleet').metric === 'cpu.iowait_percent'")
    expect(ranking).to_contain_text("All 64 nodes are alike")
    page.get_by_role("combobox", name="metric", exact=True).select_option("gpu.utilization_percent")
    becomes(page, "() => __sonde.chart('fleet').metric === 'gpu.utilization_percent'")
    ranking.get_by_role("link", name="node-0063").click()
    expect(page.get_by_role("combobox", name="Node", exact=True)).to_have_value("node-0063")
    assert line(page, "gpu", "mean")
    page.get_by_role("button", name="All 64 nodes").click()
    page.locator('[data-chart="fleet"]').click(position={"x": GUTTER + 200, "y": 3})
    expect(page.get_by_role("combobox", name="Node", exact=True)).to_have_value("node-0063")
