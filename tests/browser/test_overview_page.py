"""The page Overview: every figure is the one that was recorded."""

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import HIGH, Open
from tests.browser.drawn import drawn
from tests.browser.recorded import DIED, KNOWN, REST, RESUMED, STEPS, USUAL, Known
from tests.browser.served import Served


def test_the_summary_tells_stages_and_exact_times(
    open_page: Open, recorded: Served, known: Known
) -> None:
    page = open_page(recorded.page(KNOWN, "overview"), size=HIGH)
    expect(page.locator("h1")).to_contain_text(KNOWN)
    expect(page.locator("h1 .chip")).to_have_text("completed")
    expect(page.locator("h1")).to_contain_text("2.2\u202fmin")
    assert page.title() == f"{KNOWN} · Overview · Sonde"
    details = {one["title"]: one for one in drawn(page, "job_details")["facts"]}
    assert len(details) == 11
    last = known.stretches[-1][2] + REST
    assert details["Start time"]["value"].startswith("2023-11-14T22:13:20.000")
    assert details["Training loop"]["value"] == pytest.approx(last, abs=0.5)
    stages = page.locator('[data-chart="stages"]')
    expect(stages).to_contain_text("training loop 100")
    progress = page.locator('[data-chart="progress"]')
    progress.get_by_role("button", name="as table").click()
    expect(progress.locator("tbody tr", has_text="training loop")).to_be_visible()


def test_curves_are_the_numbers_that_were_written(
    open_page: Open, recorded: Served, known: Known
) -> None:
    page = open_page(recorded.page(KNOWN, "overview"), size=HIGH)
    losses = drawn(page, "losses")
    curves = {one["label"]: one["values"] for one in losses["curves"]}
    train = dict(zip(losses["x"], curves["loss (train)"], strict=True))
    assert [train[step] for step in range(STEPS)] == pytest.approx(known.losses, rel=1e-5)
    rate = drawn(page, "learning_rate")["curves"][0]["values"]
    assert {*rate} == {0.1}
    accuracy = drawn(page, "metrics")["curves"][0]["values"]
    assert accuracy == pytest.approx([step / STEPS for step in range(STEPS)], rel=1e-5)
    throughput = drawn(page, "throughput")["curves"][0]["values"]
    assert max(throughput) == pytest.approx(2.0, rel=0.01)
    plot = page.locator('[data-chart="losses"]')
    plot.get_by_role("button", name="log", exact=True).click()
    expect(plot.get_by_role("button", name="log", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    plot.get_by_role("button", name="as table").click()
    expect(plot.locator("tbody tr").first).to_be_visible()


def test_resources_operators_and_costs_are_told(
    open_page: Open, recorded: Served, known: Known
) -> None:
    page = open_page(recorded.page(KNOWN, "overview"), size=HIGH)
    table = drawn(page, "resources")
    heads = [one["name"] for one in table["columns"]]
    rows = {row[heads.index("metric")]: dict(zip(heads, row, strict=True)) for row in table["rows"]}
    cpu, written = rows["Total CPU"], known.values("cpu.utilization_percent")
    assert cpu["maximum"] == pytest.approx(max(written))
    assert cpu["p50"] == pytest.approx(np.percentile(written, 50), abs=0.5)
    assert cpu["p95"] == pytest.approx(np.percentile(written, 95), abs=0.5)
    expect(page.locator('[data-chart="resources"]')).to_contain_text(
        "1 of 2 GPUs of node-a were used"
    )
    operators = page.locator('[data-chart="operators"]')
    expect(operators).to_contain_text("aten::addmm")
    phases = drawn(page, "phase_time")
    assert phases["rows"][0][0] == "backward"
    assert phases["rows"][0][2] == pytest.approx(USUAL["backward"] * STEPS)
    page.locator('[data-chart-name="environment"]').scroll_into_view_if_needed()
    expect(page.locator('[data-chart="environment"]')).to_contain_text("python train.py")
    costs = {one["name"]: one["value"] for one in drawn(page, "overhead")["facts"]}
    assert costs["hook_percent"] == pytest.approx(100 * 0.1 / 120.0, abs=0.001)
    assert costs["bytes_written"] == 1000


def test_insights_name_what_was_found_and_lead_to_its_time(
    open_page: Open, recorded: Served
) -> None:
    page = open_page(recorded.page(KNOWN, "overview"), size=HIGH)
    strip = page.locator(".strip")
    expect(strip).to_contain_text("2 findings")
    rule = page.locator('[data-rule="LossSpike"]')
    rule.locator("summary").click()
    for said in (
        "jumped from 0.4055 to 60",
        "step 150",
        "How it decides",
        "Times triggered",
        "Datapoints",
        "Parameters in force",
        "What to do",
    ):
        expect(rule).to_contain_text(said)
    expect(page.locator(".quiet-rules").first).not_to_have_attribute("open", "")
    rule.get_by_role("link", name="see the charts of this time").click()
    expect(page.locator("main")).to_have_attribute("data-page", "nodes")
    [start, end] = page.evaluate("__sonde.selection")
    spike = 0.5 * 150 + 20 * 0.5
    assert start <= spike + 1
    assert end >= spike
    [left, right] = page.evaluate("__sonde.view")
    assert 0 <= left < start < end < right < 131


def test_a_job_that_died_says_why_first(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(DIED, "overview"))
    death = page.locator("main > *").first
    expect(death).to_have_attribute("data-chart", "death")
    for said in ("exception was not caught, in worker 0", "mat1 and mat2", "Traceback", "code 1"):
        expect(death).to_contain_text(said)


def test_interruptions_and_resumed_attempts_are_seen(open_page: Open, recorded: Served) -> None:
    page = open_page(recorded.page(RESUMED, "overview"))
    (lane,) = drawn(page, "progress")["lanes"]
    spans = [(one["label"], one["start"], one["end"]) for one in lane["spans"]]
    (gap,) = (one for one in spans if one[0] == "interruption")
    assert gap[1:] == pytest.approx((10.0, 15.0))
    loops = [one for one in spans if one[0] == "training loop"]
    assert [one[1:] for one in loops] == [pytest.approx((0, 10)), pytest.approx((15, 35))]
    expect(page.locator('[data-chart="progress"]')).to_contain_text("1 interruption, 5.0 s in all")
