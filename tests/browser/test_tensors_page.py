"""The Tensors page: layers, names, curves, distributions and values."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.chart_data import chart_data
from tests.browser.conftest import TIMEOUT_MS, Open
from tests.browser.served import Served
from tests.fakes.job import FakeJob

expect.set_options(timeout=TIMEOUT_MS)

HOSTILE = "<img src=x onerror=alert(1)>.weight"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, served: Callable[[str], Served]) -> Served:
    store = tmp_path_factory.mktemp("store")
    job = FakeJob((store / "trained").as_uri())
    worker = job.worker()
    for name in (HOSTILE, "fc.2.weight", "fc.10.weight"):
        worker.add_tensor(name, "weights").add_tensor(f"gradient/{name}", "gradients")
    for step in (0, 5, 10):
        for name, size in ((HOSTILE, 0.0), ("fc.2.weight", 1e-6), ("fc.10.weight", 1.0)):
            worker.statistics(name, step, [3.0, -4.0])
            worker.statistics(f"gradient/{name}", step, [size, 0.0])
    worker.values(5, {"fc.2.weight": np.arange(6, dtype=np.float32).reshape(2, 3)})
    worker.step(0, {"forward": 1.0})
    worker.flush()
    job.end()
    empty = FakeJob((store / "empty").as_uri())
    empty.worker().step(0, {"forward": 1.0}).flush()
    empty.end()
    return served(str(store))


def expect_selected(page: Page, name: str) -> None:
    expect(page.get_by_role("option", name=name).first).to_have_attribute("aria-selected", "true")


def test_dead_and_vanishing_layers_are_visible(open_page: Open, trained: Served) -> None:
    page = open_page(trained.page("trained", "tensors"))
    layers = chart_data(page, "layers")
    assert layers["names"] == [
        f"gradient/{name}" for name in (HOSTILE, "fc.2.weight", "fc.10.weight")
    ]
    assert layers["steps"] == [0, 5, 10]
    assert layers["values"][::3] == pytest.approx([0.0, 1e-6, 1.0])
    expect_selected(page, f"gradient/{HOSTILE}")  # selected by default
    assert chart_data(page, "tensor-curves")["curves"][0]["values"] == [0, 0, 0]
    page.get_by_role("button", name="Table").first.click()
    row = page.locator("tr", has_text="gradient/fc.2.weight")
    expect(row.locator("td").nth(1)).to_have_text("1e-06")
    assert page.locator("main img").count() == 0


def test_unrecorded_tensor_is_reported_by_name(open_page: Open, trained: Served) -> None:
    page = open_page(trained.page("trained", "tensors", "tensors=head.weight"))
    expect(page.get_by_text("Not recorded: head.weight.")).to_be_visible()


def test_row_of_the_heatmap_opens_its_tensor(open_page: Open, trained: Served) -> None:
    page = open_page(trained.page("trained", "tensors", "collection=weights"))
    layers = page.locator('[data-chart="layers"]')
    layers.wait_for()
    layers.focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        layers.press(key)
    expect_selected(page, "fc.2.weight")
    curves = chart_data(page, "tensor-curves")
    assert curves["curves"][0]["values"] == [5, 5, 5]
    distribution = chart_data(page, "distribution")
    assert sum(distribution["counts"]) == pytest.approx(6, abs=0.2)
    value = page.locator('[data-chart="value-card"]')
    expect(value.locator("tbody tr").nth(1)).to_contain_text("5")
    expect(value).to_contain_text("2.500")


def test_several_tensors_are_drawn_together_and_kept_in_the_url(
    open_page: Open, trained: Served
) -> None:
    page = open_page(trained.page("trained", "tensors"))
    names = page.get_by_role("listbox")
    page.get_by_label("Search tensors by name").fill("fc.")
    page.get_by_role("option", name="gradient/fc.2.weight").click()
    page.get_by_role("option", name="gradient/fc.10.weight").click(modifiers=["Control"])
    page.get_by_label("Statistic", exact=True).select_option("abs_max")
    expect(page.locator(".chosen li")).to_have_count(2)
    expect(names.locator("[aria-selected='true']")).to_have_count(2)
    expect(page).to_have_url(re.compile("fc.10.*curve=abs_max"))
    reopened = open_page(page.url)
    curves = chart_data(reopened, "tensor-curves")["curves"]
    assert [curve["values"][0] for curve in curves] == pytest.approx([1e-6, 1.0])


def test_job_without_tensors_shows_how_to_record_them(open_page: Open, trained: Served) -> None:
    page = open_page(trained.page("empty", "tensors"))
    expect(page.locator("main")).to_contain_text("sonde run --save gradients")
