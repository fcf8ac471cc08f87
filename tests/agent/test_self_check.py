from pathlib import Path

import pytest

from sonde.agent.self_check import run_self_check
from sonde.agent.system import Machine
from sonde.clock import SystemClock
from tests.fakes.machine import FakeMachine


def test_machine_has_working_collectors_with_their_cost(tmp_path: Path) -> None:
    result = run_self_check(str(tmp_path), Machine(paths=(tmp_path,)), SystemClock())
    works = {collector["collector"]: collector["works"] for collector in result["collectors"]}
    assert any(works.values())
    assert 0 < result["tick"]["milliseconds"] < result["tick"]["interval_milliseconds"]


def test_machine_without_collectors_reports_each_reason(tmp_path: Path) -> None:
    result = run_self_check(str(tmp_path), FakeMachine(tmp_path).machine(), SystemClock())
    absent = [collector for collector in result["collectors"] if not collector["works"]]
    assert {"cpu", "memory", "process_tree"} <= {collector["collector"] for collector in absent}
    assert all(collector["reason"] for collector in absent)


def test_missing_store_is_not_created(tmp_path: Path) -> None:
    result = run_self_check(str(tmp_path / "not" / "yet"), Machine(), SystemClock())
    assert result["store"]["writable"]
    assert list(tmp_path.iterdir()) == []


def test_unwritable_store_is_reported_with_the_reason() -> None:
    result = run_self_check("/proc/nowhere", Machine(), SystemClock())
    assert not result["store"]["writable"]
    assert "/proc" in result["store"]["reason"]


def test_sonde_variables_are_shown_with_masked_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SONDE_INTERVAL", "1s")
    monkeypatch.setenv("SONDE_API_TOKEN", "hunter2")
    variables = run_self_check(str(tmp_path), Machine(), SystemClock())["variables"]
    assert variables["SONDE_INTERVAL"] == "1s"
    assert "hunter2" not in variables["SONDE_API_TOKEN"]
