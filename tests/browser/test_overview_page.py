"""The Overview page: every value matches the recording."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.chart_data import chart_data
from tests.browser.conftest import HIGH, Open
from tests.browser.recorded import FAILED, PHASES, REFERENCE, REST_SECONDS, RESUMED, STEPS, Expected
from tests.browser.served import Served, serve
from tests.fakes.charts import NAME, added_chart


def test_summary_shows_stages_and_exact_times(
    open_page: Open, recorded: Served, expected: Expected
) -> None:
    page = open_page(recorded.page(REFERENCE, "overview"), size=HIGH)
    expect(page.locator("h1")).to_contain_text(REFERENCE)
    expect(page.locator("h1 .chip")).to_have_text("completed")
    expect(page.locator("h1")).to_contain_text("2\u202fmin 10\u202fs")
    assert page.title() == f"{REFERENCE} · Overview · Sonde"
    details = {fact["title"]: fact for fact in chart_data(page, "job_details")["facts"]}
    assert len(details) == 12
    last = expected.spans[-1][2] + REST_SECONDS
    assert details["Start time"]["value"].startswith("2023-11-14T22:13:20.000")
    assert details["Training loop"]["value"] == pytest.approx(last, abs=0.5)
    stages = page.locator('[data-chart="stages"]')
    expect(stages).to_contain_text("training loop 100")
    progress = page.locator('[data-chart="progress"]')
    progress.get_by_role("button", name="Table").click()
    expect(progress.locator("tbody tr", has_text="training loop")).to_be_visible()


def test_curves_match_the_recorded_values(
    open_page: Open, recorded: Served, expected: Expected
) -> None:
    page = open_page(recorded.page(REFERENCE, "overview"), size=HIGH)
    losses = chart_data(page, "losses")
    curves = {curve["label"]: curve["values"] for curve in losses["curves"]}
    train = dict(zip(losses["x"], curves["loss (train)"], strict=True))
    assert [train[step] for step in range(STEPS)] == pytest.approx(expected.losses, rel=1e-5)
    rate = chart_data(page, "learning_rate")["curves"][0]["values"]
    assert {*rate} == {0.1}
    accuracy = chart_data(page, "metrics")["curves"][0]["values"]
    assert accuracy == pytest.approx([step / STEPS for step in range(STEPS)], rel=1e-5)
    throughput = chart_data(page, "throughput")["curves"][0]["values"]
    assert max(throughput) == pytest.approx(2.0, rel=0.01)
    plot = page.locator('[data-chart="losses"]')
    plot.get_by_role("button", name="log", exact=True).click()
    expect(plot.get_by_role("button", name="log", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    plot.get_by_role("button", name="Table").click()
    expect(plot.locator("tbody tr").first).to_be_visible()


def test_resources_operators_and_overhead_are_shown(
    open_page: Open, recorded: Served, expected: Expected
) -> None:
    page = open_page(recorded.page(REFERENCE, "overview"), size=HIGH)
    table = chart_data(page, "resources")
    heads = [entry["name"] for entry in table["columns"]]
    rows = {row[heads.index("metric")]: dict(zip(heads, row, strict=True)) for row in table["rows"]}
    cpu, written = rows["Total CPU"], expected.values("cpu.utilization_percent")
    assert cpu["maximum"] == pytest.approx(max(written))
    assert cpu["p50"] == pytest.approx(np.percentile(written, 50), abs=0.5)
    assert cpu["p95"] == pytest.approx(np.percentile(written, 95), abs=0.5)
    expect(page.locator('[data-chart="resources"]')).to_contain_text(
        "1 of 2 GPUs of node-a had a mean utilization of 10% or more"
    )
    operators = page.locator('[data-chart="operators"]')
    expect(operators).to_contain_text("aten::addmm")
    phases = chart_data(page, "phase_time")
    assert phases["rows"][0][0] == "backward"
    assert phases["rows"][0][2] == pytest.approx(PHASES["backward"] * STEPS)
    page.locator('[data-chart-name="environment"]').scroll_into_view_if_needed()
    expect(page.locator('[data-chart="environment"]')).to_contain_text("python train.py")
    costs = {entry["name"]: entry["value"] for entry in chart_data(page, "overhead")["facts"]}
    assert costs["hook_percent"] == pytest.approx(100 * 0.1 / 120.0, abs=0.001)
    assert costs["bytes_written"] == 1000


def test_insights_show_findings_and_link_to_their_time(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(REFERENCE, "overview"), size=HIGH)
    expect(page.locator(".verdict li")).to_have_count(2)
    rule = page.locator('[data-rule="LossSpike"]')
    rule.locator("summary").click()
    for text in (
        "jumped from 0.4055 to 60",
        "step 150",
        "How it decides",
        "Times triggered",
        "Samples",
        "Parameters",
        "What to do",
    ):
        expect(rule).to_contain_text(text)
    expect(page.locator(".quiet-rules").first).not_to_have_attribute("open", "")
    rule.get_by_role("link", name="show in charts").click()
    expect(page.locator("main")).to_have_attribute("data-page", "nodes")
    [start, end] = page.evaluate("__sonde.selection")
    spike = 0.5 * 150 + 20 * 0.5
    assert start <= spike + 1
    assert end >= spike
    [view_start, view_end] = page.evaluate("__sonde.view")
    assert 0 <= view_start < start < end < view_end < 131


def test_failed_job_shows_the_reason_first(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(FAILED, "overview"))
    card = page.locator("main > *").first
    expect(card).to_have_attribute("data-chart", "exit")
    for text in ("Uncaught exception in worker 0", "mat1 and mat2", "Traceback", "code 1"):
        expect(card).to_contain_text(text)


def test_interruptions_and_resumed_attempts_are_shown(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(RESUMED, "overview"))
    (lane,) = chart_data(page, "progress")["lanes"]
    spans = [(span["label"], span["start"], span["end"]) for span in lane["spans"]]
    (gap,) = (span for span in spans if span[0] == "interruption")
    assert gap[1:] == pytest.approx((10.0, 15.0))
    loops = [span for span in spans if span[0] == "training loop"]
    assert [span[1:] for span in loops] == [pytest.approx((0, 10)), pytest.approx((15, 35))]
    expect(page.locator('[data-chart="progress"]')).to_contain_text("1 interruption, 5 s in total")


def test_a_new_chart_file_is_drawn_at_the_place_it_declares(
    open_page: Open, filled: tuple[str, Expected], tmp_path: Path
) -> None:
    with added_chart(tmp_path):
        served = serve(filled[0])
        try:
            page = open_page(served.page(REFERENCE, "overview"), size=HIGH)
            rows = dict(chart_data(page, NAME)["rows"])
            section = page.get_by_role("region", name="Training")
            expect(section.locator("[data-chart]")).to_have_count(3)
        finally:
            served.stop()
    assert rows == {"train": STEPS, "eval": 4}
    names = section.locator("[data-chart-name]").evaluate_all(
        "(charts) => charts.map((chart) => chart.dataset.chartName)"
    )
    assert names[:3] == ["metrics", NAME, "gradient_norms"]  # losses are a key chart above
