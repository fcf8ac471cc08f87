from pathlib import Path

import pytest

from sonde.agent.self_check import run_self_check
from sonde.agent.system import Machine
from sonde.clock import SystemClock
from tests.fakes.machine import FakeMachine


def test_a_real_machine_has_something_to_measure_and_says_what_it_costs(tmp_path: Path) -> None:
    result = run_self_check(str(tmp_path), Machine(paths=(tmp_path,)), SystemClock())
    works = {collector["collector"]: collector["works"] for collector in result["collectors"]}
    assert any(works.values())
    assert 0 < result["tick"]["milliseconds"] < result["tick"]["interval_milliseconds"]


def test_a_machine_without_anything_says_why_for_each_collector(tmp_path: Path) -> None:
    result = run_self_check(str(tmp_path), FakeMachine(tmp_path).machine(), SystemClock())
    absent = [collector for collector in result["collectors"] if not collector["works"]]
    assert {"cpu", "memory", "process_tree"} <= {collector["collector"] for collector in absent}
    assert all(collector["reason"] for collector in absent)


def test_a_store_that_is_not_there_yet_is_not_made(tmp_path: Path) -> None:
    result = run_self_check(str(tmp_path / "not" / "yet"), Machine(), SystemClock())
    assert result["store"]["writable"]
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_written_says_why() -> None:
    result = run_self_check("/proc/nowhere", Machine(), SystemClock())
    assert not result["store"]["writable"]
    assert "/proc" in result["store"]["reason"]


def test_variables_of_ours_are_shown_with_their_secrets_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SONDE_INTERVAL", "1s")
    monkeypatch.setenv("SONDE_API_TOKEN", "hunter2")
    variables = run_self_check(str(tmp_path), Machine(), SystemClock())["variables"]
    assert variables["SONDE_INTERVAL"] == "1s"
    assert "hunter2" not in variables["SONDE_API_TOKEN"]
