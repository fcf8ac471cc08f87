"""The Nodes page: shared time window and selection, and values that match the store."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.chart_data import chart_data, wait_until
from tests.browser.conftest import Open
from tests.browser.recorded import FLEET, LARGE, REFERENCE, SLOW_STEPS, STEPS, Expected
from tests.browser.served import Served
from tests.fakes.job import FakeJob

GUTTER, RIGHT = 76, 124
CPU = "cpu.utilization_percent"
# A selection that cuts through spans at both ends.
CUT = (47.33, 61.71)

# The number of colors on a canvas; an empty one has a single color.
_COLORS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""


def line(page: Page, chart: str, label: str) -> list[float]:
    lines = {series["label"]: series for series in chart_data(page, chart)["lines"]}
    values: list[float] = lines[label]["mean"]
    return values


def drag(page: Page, chart: str, start: float, end: float) -> None:
    """Drag from one fraction of the plot to another."""
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


def test_cpu_time_of_the_job_is_stacked_within_that_of_the_machine(
    open_page: Open, served: Callable[[str], Served], tmp_path: Path
) -> None:
    curves = {f"{CPU}/cpu{core}": [100.0] * 40 for core in range(4)}
    curves["process_tree.cpu_percent"] = [20.0] * 20 + [200.0] * 20  # of one core
    FakeJob(str(tmp_path / "sleep")).record(curves).end()
    page = open_page(served(str(tmp_path)).page("sleep", "nodes"))
    assert set(line(page, "cpu", "mean")) == {100.0}
    assert set(line(page, "cpu", "this job")) == {5.0, 50.0}
    expect(page.get_by_role("listitem", name="this job")).to_have_text("50%")


def test_lines_and_heatmap_match_the_samples(
    open_page: Open, recorded: Served, expected: Expected
) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"))
    mean = np.mean([expected.values(f"{CPU}/cpu{core}") for core in range(4)], axis=0)
    assert line(page, "cpu", "mean") == pytest.approx(mean, abs=0.3)
    assert line(page, "network", "sent") == pytest.approx([2e6] * STEPS)
    assert line(page, "network", "received") == pytest.approx(
        expected.values("network.receive_bytes_per_second/eth0")
    )
    expect(page.get_by_label("GPU", exact=True)).to_contain_text("1 of 2 GPUs active")
    assert line(page, "gpuMemory", "mean") == pytest.approx([26.0] * STEPS, abs=0.3)
    assert line(page, "system", "I/O wait") == pytest.approx(
        expected.values("cpu.iowait_percent"), abs=0.3
    )
    heat = chart_data(page, "heatmap")
    assert [entry["device"] for entry in heat["devices"]] == [
        *("cpu0", "cpu1", "cpu2", "cpu3", "gpu0", "gpu1")
    ]
    codes = np.array(heat["heat"]["codes"]).reshape(6, -1)
    assert codes[3][codes[3] <= 200].mean() / 2 == pytest.approx(
        expected.mean(f"{CPU}/cpu3"), abs=1.0
    )
    assert set(codes[5][codes[5] <= 200]) == {0}
    gpus = next(entry for entry in heat["layout"]["groups"] if entry["kind"] == "gpu")
    second_row_y = gpus["top"] + 1.5 * gpus["rowHeight"]
    page.locator('[data-chart="heatmap"]').hover(position={"x": GUTTER + 300, "y": second_row_y})
    expect(page.locator('[data-chart="heatmap"] .tip')).to_have_text(re.compile(r"^gpu1 · .* · 0"))
    for chart in ("cpu", "heatmap", "phases"):
        assert page.locator(f'[data-chart="{chart}"] canvas').evaluate(_COLORS) > 4


def test_cores_can_be_picked_by_number_by_click_and_by_url(
    open_page: Open, recorded: Served, expected: Expected
) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"))
    page.get_by_role("button", name="Pick cores").click()
    page.get_by_label("cores by number").fill("1,3")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="cores 1,3")).to_be_visible()
    wait_until(page, "() => __sonde.chart('cpu').lines.length === 3")
    assert line(page, "cpu", "cpu3") == pytest.approx(expected.values(f"{CPU}/cpu3"), abs=0.3)
    page.keyboard.press("Escape")
    box = page.locator('[data-chart="heatmap"]')
    group = next(
        entry for entry in chart_data(page, "heatmap")["layout"]["groups"] if entry["kind"] == "gpu"
    )
    box.click(position={"x": GUTTER + 300, "y": group["top"] + group["rowHeight"] / 2})
    wait_until(page, "() => __sonde.chart('gpu').lines.length === 2")
    expect(page).to_have_url(re.compile("cores=1,3&gpus=0"))
    reopened = open_page(page.url)
    wait_until(reopened, "() => window.__sonde?.chart('cpu')?.lines.length === 3")
    wait_until(reopened, "() => __sonde.chart('gpu')?.lines.length === 2")
    assert [entry["label"] for entry in chart_data(reopened, "gpu")["lines"]] == ["mean", "gpu0"]


def test_the_back_button_undoes_a_zoom(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"))
    chart_data(page, "cpu")
    full_view = page.evaluate("__sonde.view")
    drag(page, "cpu", 0.25, 0.5)
    first_zoom = page.evaluate("__sonde.view")
    drag(page, "cpu", 0.25, 0.5)
    assert page.evaluate("__sonde.view") != first_zoom
    page.go_back()
    wait_until(page, "(view) => String(__sonde.view) === String(view)", first_zoom)
    page.go_back()
    wait_until(page, "(view) => String(__sonde.view) === String(view)", full_view)


def test_dragging_zooms_all_charts_and_double_click_resets(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"))
    chart_data(page, "heatmap")
    full_view = page.evaluate("__sonde.view")
    points = len(line(page, "cpu", "mean"))
    requests: list[str] = []
    page.on(
        "request", lambda request: requests.append(urlsplit(request.url).path.rpartition("/")[2])
    )
    drag(page, "cpu", 0.25, 0.5)
    wait_until(page, "() => __sonde.chart('breakdown').t0 - __sonde.job.t0 > 25")
    assert sorted(requests) == ["breakdown", "heat", "series", "spans"]
    [start, end] = page.evaluate("__sonde.view")
    assert start == pytest.approx(0.25 * full_view[1], abs=0.3)
    assert end == pytest.approx(0.5 * full_view[1], abs=0.3)
    expect(page).to_have_url(re.compile("t=32"))
    for chart in ("cpu", "network", "system"):
        wait_until(page, "([name, count]) => __sonde.chart(name).x.length < count", [chart, points])
    wait_until(page, "() => __sonde.chart('heatmap').heat.start > 25")
    wait_until(page, "() => __sonde.chart('phases').window[0] > 25")
    expect(page.locator(".time-bar")).to_contain_text("of 2\u202fmin 10\u202fs")
    page.locator('[data-chart="cpu"]').dblclick(position={"x": 400, "y": 50})
    wait_until(page, "(end) => __sonde.view[1] === end", full_view[1])
    page.locator('[data-chart="cpu"]').hover(position={"x": 600, "y": 50})
    before = page.evaluate("__sonde.hover")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    wait_until(page, "(end) => __sonde.view[1] < end", full_view[1])
    [start, end] = page.evaluate("__sonde.view")
    assert start < before < end


def test_totals_of_a_selection_are_exact(
    open_page: Open, recorded: Served, expected: Expected
) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes", f"sel={CUT[0]}-{CUT[1]}"))
    shown = chart_data(page, "breakdown")
    phases = {row["name"]: row for row in shown["phases"]}
    for name, (count, seconds) in expected.phase_seconds(*CUT).items():
        assert phases[name]["count"] == count
        # the selection is sent as Unix seconds, which are exact to a quarter microsecond
        assert phases[name]["seconds"] == pytest.approx(seconds, abs=5e-7)
    system = shown["system"]["range"]
    assert system["cpu.iowait_percent"]["mean"] == pytest.approx(
        expected.mean("cpu.iowait_percent", *CUT)
    )
    assert system["gpu.utilization_percent"]["devices"]["gpu0"] == pytest.approx(
        expected.mean("gpu.utilization_percent/gpu0", *CUT)
    )
    table = page.locator('[data-chart="breakdown"]')
    expect(table).to_contain_text("Breakdown of selection")
    waited = expected.phase_seconds(*CUT)["data_wait"]
    expect(table.locator("tr[data-phase=data_wait]")).to_contain_text(f"{waited[1]:.3g}\u202fs")
    table.get_by_label("Details of forward").click()
    expect(table.locator("tr.child").first).to_contain_text("body")
    drag(page, "phases", 0.1, 0.3)
    wait_until(page, "(start) => __sonde.selection[0] < start", CUT[0])
    brushed_range = page.evaluate("__sonde.selection")
    wait_until(
        page,
        """([start, end]) => {
          const { t0, t1 } = __sonde.chart("breakdown"), zero = __sonde.job.t0;
          return Math.abs(t0 - zero - start) < 1e-3 && Math.abs(t1 - zero - end) < 1e-3;
        }""",
        brushed_range,
    )
    brushed = {row["name"]: row["seconds"] for row in chart_data(page, "breakdown")["phases"]}
    for name, (_, seconds) in expected.phase_seconds(*brushed_range).items():
        assert brushed[name] == pytest.approx(seconds, abs=1e-4)
    page.get_by_role("button", name="Clear").first.click()
    wait_until(page, "() => __sonde.selection === null")


def test_step_bars_show_the_last_steps_and_page_to_earlier_ones(
    open_page: Open, recorded: Served, expected: Expected
) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"))
    document = chart_data(page, "steps")
    assert [row["step"] for row in document["steps"]] == [*range(STEPS - 30, STEPS)]
    assert document["median_seconds"] == pytest.approx(0.5)
    card = page.locator('[data-chart="steps"]')
    for _ in range(4):
        first = page.evaluate("__sonde.chart('steps').steps[0].step")
        card.get_by_label("Earlier steps").click()
        wait_until(page, "(first) => __sonde.chart('steps').steps[0].step < first", first)
    slow = {row["step"]: row for row in chart_data(page, "steps")["steps"]}[SLOW_STEPS[0]]
    assert slow["phases"]["data_wait"] == pytest.approx(0.55)
    assert slow["seconds"] == pytest.approx(1.0)
    bar = card.get_by_label(re.compile(f"^Step {SLOW_STEPS[0]}: 1\u202fs"))
    bar.focus()
    bar.press("Enter")
    begin = expected.times[SLOW_STEPS[0]]
    assert page.evaluate("__sonde.selection") == pytest.approx([begin, begin + 1.0], abs=1e-3)


def test_charts_can_be_used_with_the_keyboard_and_read_as_tables(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(REFERENCE, "nodes"))
    chart_data(page, "heatmap")
    page.locator('[data-chart="heatmap"] canvas').focus()
    full_view = page.evaluate("__sonde.view")
    page.keyboard.press("+")
    assert page.evaluate("__sonde.view")[1] < full_view[1]
    for key in (".", "s"):
        page.keyboard.press(key)
    start, end = page.evaluate("__sonde.selection")
    assert 0 < start < end < full_view[1]
    page.keyboard.press("Escape")
    assert page.evaluate("__sonde.selection") is None
    page.keyboard.press("0")
    assert page.evaluate("__sonde.view") == full_view
    for title, cell in (
        ("CPU", "500\u202fms"),
        ("Cores and GPUs", "gpu1"),
        ("Framework phases", "forward"),
    ):
        block = page.get_by_label(title, exact=True).and_(page.locator("section"))
        block.get_by_role("button", name="Show table").click()
        expect(block.locator("tbody")).to_contain_text(cell)


def test_heatmap_has_a_row_for_each_of_256_cores_and_64_gpus(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(LARGE, "nodes"))
    heat = chart_data(page, "heatmap")
    assert len(heat["devices"]) == 320
    assert heat["heat"]["rows"] == 320
    expect(page.get_by_role("combobox", name="Worker", exact=True)).to_be_visible()


def test_fleet_ranks_outlier_nodes_first(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(FLEET, "nodes"))
    fleet = chart_data(page, "fleet")
    assert len(fleet["nodes"]) == 64
    ranking = page.locator('[data-chart="ranking"]')
    expect(ranking).to_contain_text("1 of 64 nodes differs from the rest")
    expect(ranking.locator("li").first).to_contain_text("node-0063")
    page.get_by_role("combobox", name="Metric", exact=True).select_option("cpu.iowait_percent")
    wait_until(page, "() => __sonde.chart('fleet').metric === 'cpu.iowait_percent'")
    expect(ranking).to_contain_text("No outliers among 64 nodes")
    page.get_by_role("combobox", name="Metric", exact=True).select_option("gpu.utilization_percent")
    wait_until(page, "() => __sonde.chart('fleet').metric === 'gpu.utilization_percent'")
    ranking.get_by_role("link", name="node-0063").click()
    expect(page.get_by_role("combobox", name="Node", exact=True)).to_have_value("node-0063")
    assert line(page, "gpu", "mean")
    page.get_by_role("button", name="All 64 nodes").click()
    page.locator('[data-chart="fleet"]').click(position={"x": GUTTER + 200, "y": 3})
    expect(page.get_by_role("combobox", name="Node", exact=True)).to_have_value("node-0063")
