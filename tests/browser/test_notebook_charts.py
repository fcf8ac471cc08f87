"""Charts as a notebook shows them: alive in a frame without rights, a picture without scripts."""

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.fakes.reported import reported_job
from tests.fakes.training import with_losses


def test_a_chart_of_a_notebook_is_alive_in_its_frame_and_a_picture_without_scripts(
    open_page: Open, tmp_path: Path
) -> None:
    plot = with_losses([1 / (1 + step) for step in range(50)]).job().losses.plot()
    file = tmp_path / "cell.html"
    file.write_text(f"<!doctype html><title>cell</title><body>{plot._repr_html_()}")
    page = open_page(file.as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.locator("figure .live canvas").first).to_be_visible()
    expect(frame.locator("figure .static")).to_be_hidden()
    # what is in the frame has no right to look at what is around it
    looks_around = "() => { try { return !!parent.document } catch { return false } }"
    assert frame.locator("body").evaluate(looks_around) is False
    still = open_page(file.as_uri(), scripts=False)
    expect(still.frame_locator("iframe").locator("figure .static svg")).to_be_visible()
    picture = still.locator("img")
    assert picture.evaluate("async (one) => { await one.decode(); return one.naturalWidth }") > 800


def test_charts_of_a_notebook_fit_their_frames_and_lanes_share_an_axis(
    open_page: Open, tmp_path: Path
) -> None:
    job = reported_job().job
    plots = [
        *(job.losses.plot(), job.steps().histogram().plot(), job.steps().statistics().plot()),
        *(job.steps().slowest(3).plot(), job.system("cpu.*").plot(), job.between(5, 9).plot()),
        *(job.timeline(start_step=2, end_step=5).plot(), job.stages.plot()),
        job.system("gpu.utilization_percent").heatmap().plot(),
    ]
    file = tmp_path / "cells.html"
    cells = "".join(plot._repr_html_() for plot in plots)
    file.write_text(f"<!doctype html><title>cells</title><body>{cells}")
    page = open_page(file.as_uri(), size=(1000, 5000))
    for place, plot in enumerate(plots):
        frame = page.frame_locator("iframe").nth(place)
        expect(frame.locator("figure .live > *").first).to_be_visible()
        whole = frame.locator("html")
        is_cut = whole.evaluate("(one) => one.scrollHeight > one.clientHeight")
        assert not is_cut, plot
        lefts = frame.locator(".lanes .track").evaluate_all(
            "(all) => all.map((one) => one.getBoundingClientRect().left)"
        )
        assert len(set(lefts)) <= 1, plot  # one axis for all lanes
