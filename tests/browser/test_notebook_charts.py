"""Charts in notebooks: interactive in a sandboxed frame, static without scripts."""

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.fakes.reported import reported_job
from tests.fakes.training import with_losses


def test_notebook_chart_is_interactive_in_its_frame_and_static_without_scripts(
    open_page: Open, tmp_path: Path
) -> None:
    plot = with_losses([1 / (1 + step) for step in range(50)]).job().losses.plot()
    file = tmp_path / "cell.html"
    file.write_text(f"<!doctype html><title>cell</title><body>{plot._repr_html_()}")
    page = open_page(file.as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.locator("figure .live canvas").first).to_be_visible()
    expect(frame.locator("figure .static")).to_be_hidden()
    # the frame must not access the page around it
    can_read_parent = "() => { try { return !!parent.document } catch { return false } }"
    assert frame.locator("body").evaluate(can_read_parent) is False
    static_page = open_page(file.as_uri(), scripts=False)
    expect(static_page.frame_locator("iframe").locator("figure .static svg")).to_be_visible()
    picture = static_page.locator("img")
    assert (
        picture.evaluate("async (image) => { await image.decode(); return image.naturalWidth }")
        > 800
    )


def test_notebook_charts_fit_their_frames_and_lanes_are_aligned(
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
    for index, plot in enumerate(plots):
        frame = page.frame_locator("iframe").nth(index)
        expect(frame.locator("figure .live > *").first).to_be_visible()
        root = frame.locator("html")
        is_cut = root.evaluate("(element) => element.scrollHeight > element.clientHeight")
        assert not is_cut, plot
        lefts = frame.locator(".lanes .track").evaluate_all(
            "(tracks) => tracks.map((track) => track.getBoundingClientRect().left)"
        )
        assert len(set(lefts)) <= 1, plot  # one axis for all lanes
