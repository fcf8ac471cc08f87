"""The Rules page: rules with findings first, the others collapsed, with all details."""

import re

from playwright.sync_api import expect

from sonde.client.job import open_job
from tests.browser.conftest import Open
from tests.browser.recorded import REFERENCE, Expected
from tests.browser.served import Served


def test_rules_with_findings_come_first_and_expand_to_details(
    open_page: Open, recorded: Served, filled: tuple[str, Expected]
) -> None:
    status = open_job(f"{filled[0]}/{REFERENCE}").summary
    triggered = [entry["rule"] for entry in status["rules"] if entry["findings"]]
    page = open_page(recorded.page(REFERENCE, "rules"))
    shown = page.locator(".rule-list > ul > li[data-rule]")
    expect(shown).to_have_count(len(triggered))
    assert {entry.get_attribute("data-rule") for entry in shown.all()} == {*triggered}
    silent = page.locator(".quiet-rules[data-status=NoIssuesFound]")
    expect(silent).not_to_have_attribute("open", "")
    clean = [entry["rule"] for entry in status["rules"] if entry["status"] == "NoIssuesFound"]
    expect(silent.locator("li[data-rule]")).to_have_count(len(clean))
    page.get_by_label("Search rules").fill("spike")
    expect(shown).to_have_count(1)
    expect(page).to_have_url(re.compile("search=spike"))
    rule = page.locator('[data-rule="LossSpike"]')
    rule.locator("summary").first.press("Enter")
    expect(page).to_have_url(re.compile("rule=LossSpike"))
    (spike,) = (entry for entry in status["rules"] if entry["rule"] == "LossSpike")
    expect(rule).to_contain_text(spike["findings"][0]["message"])
    for name in spike["parameters"]:
        expect(rule.get_by_role("table", name="Parameters")).to_contain_text(name)
    expect(rule.locator("dl").last).to_contain_text(f"Samples{spike['datapoints']}")
