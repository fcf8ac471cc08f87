"""A running job: pages update without a reload, and controls take effect."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chart_data import chart_data, wait_until
from tests.browser.conftest import Open
from tests.browser.served import Served, serve
from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import Sonde, is_alive

# Fits a line to noise; the loss becomes NaN once the file `break` exists.
TRAINING = """
import pathlib, time
import numpy as np
import sonde
random = np.random.default_rng(0)
weight, step = 0.0, 0
while True:
    inputs = random.normal(size=64)
    with sonde.phase("forward"):
        error = weight * inputs - 3 * inputs
        time.sleep(0.02)
    loss = float(np.mean(error**2)) + 0.1
    with sonde.phase("backward"):
        weight -= 0.05 * float(np.mean(2 * error * inputs))
        time.sleep(0.02)
    sonde.log(loss=float("nan") if pathlib.Path("break").exists() else loss)
    sonde.step()
    step += 1
"""
RULES = ("--rules", "ExplodingTensor,LossSpike")
JOB = "live"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sonde]:
    sonde = Sonde(tmp_path_factory.mktemp("live"))
    sonde.start("run", "--name", JOB, *RULES, "--no-report", sys.executable, "-c", TRAINING)
    assert eventually(lambda: sonde.runs(JOB))
    yield sonde
    sonde.close()


def last_step(page: Page) -> int:
    step: int = page.evaluate("() => __sonde.chart('steps')?.steps.at(-1)?.step ?? -1")
    return step


def wait_for_growth(page: Page) -> None:
    """Wait until new samples and steps arrive."""
    end, step = page.evaluate("__sonde.extent")[1], last_step(page)
    wait_until(page, "(end) => __sonde.extent[1] > end", end)
    wait_until(page, "(step) => __sonde.chart('steps')?.steps.at(-1)?.step > step", step)


def sampling_interval(sonde: Sonde) -> float:
    """The seconds between the last two samples."""
    times, _ = sonde.samples("cpu.utilization_percent", JOB)
    return times[-1] - times[-2]


def test_running_job_updates_live_and_can_be_controlled(
    open_page: Open, running: Sonde, served: Callable[[str], Served]
) -> None:
    page = open_page(served(str(running.job_folder(JOB).parent)).page(JOB, "nodes"))
    expect(page.locator("h1 .chip")).to_have_text("running")
    wait_until(page, "() => __sonde.connection === 'live'")
    wait_for_growth(page)
    _change_interval(page, running)
    _turn_monitoring_off_and_on(page, running)
    _trigger_finding(page, running)
    _pause_and_resume(page)
    _request_profile(page)
    page.get_by_role("button", name="Pause").click()
    _stop(page, running)


def _change_interval(page: Page, running: Sonde) -> None:
    assert sampling_interval(running) > 0.3
    page.get_by_role("combobox", name="Monitoring").select_option("0.1")
    expect(page.locator(".toast")).to_contain_text("Sampling every 100 ms")
    assert eventually(lambda: sampling_interval(running) < 0.2)
    wait_until(page, "() => __sonde.job.interval_seconds === 0.1")
    _expect_whole_history(page)


def _expect_whole_history(page: Page) -> None:
    """Charts show the samples before the change of the interval, without gaps."""
    wait_until(page, "() => __sonde.chart('heatmap').heat.width < 0.3")
    memory = "line.label === 'memory'"
    script = f"() => __sonde.chart('system').lines.find((line) => {memory}).mean"
    for means in (page.evaluate("() => __sonde.chart('cpu').lines[0].mean"), page.evaluate(script)):
        known = [index for index, value in enumerate(means) if value is not None and value >= 0]
        assert known == list(range(known[0], known[-1] + 1))
    heat = page.evaluate("() => __sonde.chart('heatmap').heat")
    first_row = heat["codes"][: heat["columns"]]
    known = [index for index, code in enumerate(first_row) if code != 255]
    assert known == list(range(known[0], known[-1] + 1))


def _turn_monitoring_off_and_on(page: Page, running: Sonde) -> None:
    monitoring = page.get_by_role("combobox", name="Monitoring")
    monitoring.select_option("off")
    wait_until(page, "() => __sonde.job.is_monitoring === false")
    times, _ = running.samples("cpu.utilization_percent", JOB)
    monitoring.select_option("0.1")
    wait_until(page, "() => __sonde.job.is_monitoring")
    assert eventually(
        lambda: running.samples("cpu.utilization_percent", JOB)[0][-1] > times[-1] + 1.0
    )


def _trigger_finding(page: Page, running: Sonde) -> None:
    assert page.locator(".strip").count() == 0
    (running.folder / "break").touch()
    expect(page.locator(".strip")).to_contain_text("ExplodingTensor")


def _pause_and_resume(page: Page) -> None:
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("h1 .live")).to_contain_text("paused")
    page.get_by_role("button", name="Resume").click()
    wait_until(page, "() => __sonde.connection === 'live'")


def _request_profile(page: Page) -> None:
    page.get_by_role("button", name="Profile now").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("operators and kernels")).to_be_checked()
    for kind in ("operators and kernels", "data loading"):
        dialog.get_by_label(kind).uncheck()
    dialog.get_by_label("For").fill("5")
    dialog.get_by_role("button", name="Profile").click()
    expect(page.locator(".toast")).to_contain_text("python")


def _stop(page: Page, running: Sonde) -> None:
    pid = running.command_pid(JOB)
    page.get_by_role("button", name="Stop training").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"Stop {JOB}?")
    dialog.get_by_role("button", name="Cancel").click()
    assert is_alive(pid)
    page.get_by_role("button", name="Stop training").click()
    dialog.get_by_role("button", name="Stop training").click()
    expect(page.locator("h1 .chip")).to_have_text("stopped")
    assert eventually(lambda: not is_alive(pid))
    assert running.status(JOB)["exit"]["message"].startswith("stopped by ")
    expect(page.get_by_role("button", name="Stop training")).to_have_count(0)


def test_page_reconnects_after_a_server_restart(open_page: Open, tmp_path: Path) -> None:
    sonde = Sonde(tmp_path)
    try:
        sonde.start("run", "--name", JOB, "--no-rules", "--no-report", "sleep", "600")
        assert eventually(lambda: sonde.runs(JOB))
        first = serve(str(sonde.job_folder(JOB).parent))
        page = open_page(first.page(JOB, "nodes"), expected=("ERR_CONNECTION_REFUSED", "ERR_INC"))
        wait_until(page, "() => __sonde.connection === 'live'")
        chart_data(page, "cpu")
        first.stop()
        expect(page.locator("[data-state=lost]")).to_be_visible()
        end = page.evaluate("__sonde.extent")[1]
        second = serve(str(sonde.job_folder(JOB).parent), first.port)
        wait_until(page, "() => __sonde.connection === 'live'")
        expect(page.locator("[data-state=lost]")).to_have_count(0)
        wait_until(page, "(end) => __sonde.extent[1] > end", end)
        page.goto("about:blank")
        second.stop()
    finally:
        sonde.close()
