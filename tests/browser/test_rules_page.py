"""The page Rules: what was found first, the quiet ones folded, everything behind each."""

import re

from playwright.sync_api import expect

from sonde.client.job import open_job
from tests.browser.conftest import Open
from tests.browser.recorded import KNOWN, Known
from tests.browser.served import Served


def test_rules_stand_by_what_they_found_and_open_to_all_they_know(
    open_page: Open, recorded: Served, filled: tuple[str, Known]
) -> None:
    status = open_job(f"{filled[0]}/{KNOWN}").summary
    loud = [one["rule"] for one in status["rules"] if one["findings"]]
    page = open_page(recorded.page(KNOWN, "rules"))
    shown = page.locator(".rule-list > ul > li[data-rule]")
    expect(shown).to_have_count(len(loud))
    assert {one.get_attribute("data-rule") for one in shown.all()} == {*loud}
    quiet = page.locator(".quiet-rules[data-status=NoIssuesFound]")
    expect(quiet).not_to_have_attribute("open", "")
    clean = [one["rule"] for one in status["rules"] if one["status"] == "NoIssuesFound"]
    expect(quiet.locator("li[data-rule]")).to_have_count(len(clean))
    page.get_by_label("Search rules").fill("spike")
    expect(shown).to_have_count(1)
    expect(page).to_have_url(re.compile("search=spike"))
    rule = page.locator('[data-rule="LossSpike"]')
    rule.locator("summary").first.press("Enter")
    (spike,) = (one for one in status["rules"] if one["rule"] == "LossSpike")
    expect(rule).to_contain_text(spike["findings"][0]["message"])
    for name in spike["parameters"]:
        expect(rule.get_by_role("table", name="Parameters in force")).to_contain_text(name)
    expect(rule.locator("dl").last).to_contain_text(f"Datapoints{spike['datapoints']}")
