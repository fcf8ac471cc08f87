"""The list of charts: those of the Overview page in its order, then all others."""

from pathlib import Path
from typing import Any

import pytest

from sonde.charts import OverviewSection
from tests.fakes.charts import NAME, added_chart
from tests.fakes.job import FakeJob
from tests.web.api_client import ApiClient


@pytest.fixture
def client() -> ApiClient:
    return ApiClient(FakeJob().end())


def listed(client: ApiClient) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = client.document("charts")
    return entries


def names_in(section: OverviewSection, entries: list[dict[str, Any]]) -> list[str]:
    places = {entry["name"]: entry["overview"] for entry in entries if entry["overview"]}
    return [name for name, place in places.items() if place["section"] == section]


def test_charts_of_the_overview_are_listed_in_its_order(client: ApiClient) -> None:
    entries = listed(client)
    sections = [entry["overview"] and entry["overview"]["section"] for entry in entries]
    assert list(dict.fromkeys(sections)) == [*OverviewSection, None]
    training = ["losses", "metrics", "gradient_norms", "learning_rate", "throughput"]
    assert names_in(OverviewSection.TRAINING, entries) == training


def test_a_new_chart_file_is_listed_at_the_place_it_declares(
    client: ApiClient, tmp_path: Path
) -> None:
    with added_chart(tmp_path):
        entries = listed(client)
    assert names_in(OverviewSection.TRAINING, entries)[:4] == [
        *("losses", "metrics", NAME, "gradient_norms")
    ]
    place = next(entry["overview"] for entry in entries if entry["name"] == NAME)
    assert (place["size"], place["title"], place["empty"]) == ("wide", None, None)


def test_a_chart_that_cannot_be_imported_does_not_hide_the_others(
    client: ApiClient, tmp_path: Path
) -> None:
    before = listed(client)
    with added_chart(tmp_path, "import a_package_that_is_not_installed"):
        assert listed(client) == before
