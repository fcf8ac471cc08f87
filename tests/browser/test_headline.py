"""The headline strip on every page of a job, and the Overview built around it."""

import pytest
from playwright.sync_api import expect

from sonde.client.job import open_job
from sonde.results.headline import headline
from tests.browser.chart_data import chart_data
from tests.browser.conftest import Open
from tests.browser.recorded import FAILED, FLEET, REFERENCE, Expected
from tests.browser.served import Served

PAGES = ("overview", "nodes", "tensors", "timeline", "rules")


@pytest.mark.parametrize("name", PAGES)
def test_every_page_of_a_job_has_the_figures_of_the_python_api(
    open_page: Open, recorded: Served, filled: tuple[str, Expected], name: str
) -> None:
    page = open_page(recorded.page(REFERENCE, name))
    figures = headline(open_job(f"{filled[0]}/{REFERENCE}"))
    assert {figure.name for figure in figures} >= {"progress", "throughput", "loss", "utilization"}
    for figure in figures:
        tile = page.locator(f'[data-figure="{figure.name}"]')
        expect(tile.locator("b")).to_have_text(figure.text.replace(" ", "\u202f", 1))
        expect(tile).to_contain_text(figure.note)


def test_the_overview_shows_the_verdict_then_three_charts_then_the_summary(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(REFERENCE, "overview"), size=(1440, 6000))
    expect(page.locator(".key-charts [data-chart-name]")).to_have_count(3)
    chart_data(page, "losses")
    tops = [
        page.locator(selector).first.bounding_box()["y"]  # type: ignore[index]
        for selector in (".headline", ".verdict", ".key-charts", ".summary", ".insights")
    ]
    assert tops == sorted(tops)
    names = [
        chart.get_attribute("data-chart-name") for chart in page.locator("[data-chart-name]").all()
    ]
    assert len(names) == len(set(names)), "a chart is shown twice"
    expect(page.locator(".verdict li").first).to_be_visible()
    sentence = page.locator(".verdict .sentence").inner_text()
    for message in page.locator(".verdict li .sub").all_inner_texts():
        assert message.rstrip(".") not in sentence, "a finding is shown twice"
    page.locator(".verdict a").first.click()
    expect(page.locator(".finding-card")).to_be_visible()


@pytest.mark.parametrize("job", [FAILED, FLEET])
def test_jobs_without_some_figures_have_the_others(
    open_page: Open, recorded: Served, job: str
) -> None:
    page = open_page(recorded.page(job, "overview"))
    expect(page.locator('[data-chart="headline"][data-state="ready"]')).to_be_visible()
    assert page.locator("[data-figure]").count() >= 2
    expect(page.locator("[data-figure] b", has_text="–")).to_have_count(0)
