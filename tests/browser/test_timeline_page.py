"""The Timeline page: tracks, search, totals, flame graph and downloads."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chart_data import chart_data, wait_until
from tests.browser.conftest import TIMEOUT_MS, Open
from tests.browser.served import Served
from tests.fakes.job import FakeJob
from tests.fakes.python_profile import FakeProfile

expect.set_options(timeout=TIMEOUT_MS)

HOSTILE = "gemm<b onclick=alert(1)>"
MAIN = ("main", "/home/user/train.py", 3)
LOAD = ("load", "/home/user/data.py", 5)
MODEL = ("forward", "/home/user/model.py", 8)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, served: Callable[[str], Served]) -> Served:
    store = tmp_path_factory.mktemp("store")
    job = FakeJob((store / "trained").as_uri())
    worker = job.worker()
    gpu = {"device": "cuda:0", "lane": "stream 7"}
    worker.operation("aten::mm", "operator", 0.30, 0.10, module="body.0")
    worker.operation("cudaLaunchKernel", "runtime", 0.33, 0.01, correlation=7, module="body.0")
    worker.operation(HOSTILE, "kernel", 0.50, 0.20, correlation=7, **gpu)
    worker.operation(HOSTILE, "kernel", 1.60, 0.10, **gpu)
    profile = FakeProfile(worker)
    profile.add_samples((MAIN, LOAD), 250).add_samples((MAIN, MODEL), 750)
    for number in range(2):
        worker.step(number, {"data_wait": 0.25, "forward": 0.75})
    profile.write()
    worker.flush()
    job.record({"cpu.utilization_percent": [10.0, 20.0]})
    job.end()
    return served(str(store))


def tracks(page: Page) -> list[dict[str, Any]]:
    expect(page.locator('[data-chart="timeline"][data-state="ready"]')).to_be_visible()
    entries: list[dict[str, Any]] = chart_data(page, "trace-worker-0")["tracks"]
    return entries


def test_all_tracks_are_drawn_with_their_slices(open_page: Open, trained: Served) -> None:
    page = open_page(trained.page("trained", "timeline"))
    assert {entry["title"]: entry["count"] for entry in tracks(page)} == {
        "steps": 2,
        "phases": 4,
        "thread 1": 2,
        "cuda:0 stream 7": 2,
    }
    machine = chart_data(page, "timeline-machine-node-a")
    assert [entry["label"] for entry in machine["lines"]] == ["CPU"]
    assert list(machine["lines"][0]["mean"]) == [10, 20]


def test_search_moves_to_the_next_match_and_shows_its_details(
    open_page: Open, trained: Served
) -> None:
    page = open_page(trained.page("trained", "timeline"))
    tracks(page)
    box = page.get_by_label("Find slices by name")
    box.fill("gemm")
    expect(page.locator("[data-hits='2']")).to_be_visible()
    box.press("Enter")
    details = page.locator('[data-chart="timeline-details"]')
    expect(details).to_contain_text(HOSTILE)
    for text in ("200\u202fms", "forward", "body.0", "cuda:0", "cudaLaunchKernel"):
        expect(details).to_contain_text(text)
    assert details.locator("b").count() == 0
    page.get_by_label("Next match").click()
    expect(details).to_contain_text("100\u202fms")
    expect(page).to_have_url(re.compile("slice=.*find=gemm|find=gemm.*slice="))


def test_totals_of_a_selection_match_the_server(open_page: Open, trained: Served) -> None:
    page = open_page(trained.page("trained", "timeline", "sel=0.1-1.1"))
    totals = page.locator('[data-chart="timeline-totals"]')
    expect(totals).to_contain_text("in selection")
    row = totals.locator("tr", has_text="data_wait")
    expect(row).to_contain_text("250\u202fms")
    expect(row.locator("td").nth(5)).to_have_text("2")
    totals.get_by_label("Track").select_option("cuda:0 stream 7")
    expect(totals.locator("tbody tr")).to_have_count(1)


def test_flame_graph_filters_by_steps_and_zooms(open_page: Open, trained: Served) -> None:
    page = open_page(trained.page("trained", "timeline", "steps=0"))
    flame = page.locator('[data-chart="flame"]')
    graph = chart_data(page, "flame")
    assert graph["names"] == ["main", "forward", "load"]
    assert graph["totals"] == pytest.approx([1.0, 0.75, 0.25])
    functions = page.get_by_label("Functions by time").locator("tbody tr")
    expect(functions.nth(0)).to_contain_text("forward")
    expect(functions.nth(0)).to_contain_text("75")
    flame.focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        flame.press(key)
    expect(page.get_by_role("button", name="Show all", exact=True)).to_be_visible()
    assert page.evaluate("__sonde.chart('flame').zoom") == 1
    page.get_by_label("Find functions").fill("load")
    expect(page.locator(".flame-read")).to_contain_text("25% of total time")


def test_traces_can_be_downloaded(open_page: Open, trained: Served, tmp_path: Path) -> None:
    page = open_page(trained.page("trained", "timeline"))
    for link, key in (("Download trace for Perfetto", "traceEvents"), ("Speedscope", "profiles")):
        with page.expect_download() as waiting:
            page.get_by_role("link", name=link).click()
        file = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(file)
        assert json.loads(file.read_text())[key]


@pytest.fixture(scope="module")
def profiled_late(
    tmp_path_factory: pytest.TempPathFactory, served: Callable[[str], Served]
) -> Served:
    """A job of two minutes with a profile of one second."""
    store = tmp_path_factory.mktemp("store")
    job = FakeJob((store / "late").as_uri())
    worker = job.worker()
    for number in range(1200):
        if number == 300:
            worker.operation("aten::mm", "operator", 0.01, 0.05)
            worker.span("operators", 0.0, 1.0, number, "window")
        worker.step(number, {"data_wait": 0.02, "forward": 0.05, "backward": 0.03})
    worker.beat(0.1, 120.0, is_over=True).flush()
    job.end()
    return served(str(store))


def test_timeline_opens_on_the_profiled_steps_and_other_pages_show_the_job(
    open_page: Open, profiled_late: Served
) -> None:
    page = open_page(profiled_late.page("late", "timeline"))
    # before the job is loaded, the view is a placeholder: the first second
    wait_until(page, "() => __sonde.view[1] > 31 && __sonde.view[1] - __sonde.view[0] < 2")
    assert page.evaluate("__sonde.view[0]") < 30
    page.get_by_role("button", name="All", exact=True).click()
    wait_until(page, "() => __sonde.view[1] - __sonde.view[0] > 100")
    shared = open_page(profiled_late.page("late", "timeline", "t=5-15"))
    tracks(shared)
    assert shared.evaluate("__sonde.view") == [5, 15]


def test_phases_keep_their_colors_when_zoomed_out(open_page: Open, profiled_late: Served) -> None:
    page = open_page(profiled_late.page("late", "timeline", "t=0-119"))
    tracks(page)
    layout = {entry["title"]: entry for entry in chart_data(page, "trace-worker-0")["tracksLayout"]}
    colorful = page.evaluate(
        """([top]) => {
          const canvas = document.querySelector('[data-chart="trace-worker-0"] canvas');
          const ratio = devicePixelRatio;
          const { data } = canvas.getContext("2d").getImageData(
            0, (top + 17) * ratio, canvas.width, 15 * ratio);
          let count = 0;
          for (let at = 0; at < data.length; at += 4) {
            const [r, g, b] = data.slice(at, at + 3);
            if (Math.max(r, g, b) - Math.min(r, g, b) > 40) count += 1;
          }
          return count;
        }""",
        [layout["phases"]["top"]],
    )
    assert colorful > 1000
