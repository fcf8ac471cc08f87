from pathlib import Path

import pytest

from sonde.agent.self_check import run_self_check
from sonde.agent.system import Machine
from sonde.clock import SystemClock
from tests.fakes.machine import FakeMachine


def test_a_real_machine_has_something_to_measure_and_says_what_it_costs(tmp_path: Path) -> None:
    found = run_self_check(str(tmp_path), Machine(paths=(tmp_path,)), SystemClock())
    works = {one["collector"]: one["works"] for one in found["collectors"]}
    assert any(works.values())
    assert 0 < found["tick"]["milliseconds"] < found["tick"]["interval_milliseconds"]


def test_a_machine_without_anything_says_why_for_each_collector(tmp_path: Path) -> None:
    found = run_self_check(str(tmp_path), FakeMachine(tmp_path).machine(), SystemClock())
    absent = [one for one in found["collectors"] if not one["works"]]
    assert {"cpu", "memory", "process_tree"} <= {one["collector"] for one in absent}
    assert all(one["reason"] for one in absent)


def test_a_store_that_is_not_there_yet_is_not_made(tmp_path: Path) -> None:
    found = run_self_check(str(tmp_path / "not" / "yet"), Machine(), SystemClock())
    assert found["store"]["writable"]
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_written_says_why() -> None:
    found = run_self_check("/proc/nowhere", Machine(), SystemClock())
    assert not found["store"]["writable"]
    assert "/proc" in found["store"]["reason"]


def test_variables_of_ours_are_shown_with_their_secrets_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SONDE_INTERVAL", "1s")
    monkeypatch.setenv("SONDE_API_TOKEN", "hunter2")
    variables = run_self_check(str(tmp_path), Machine(), SystemClock())["variables"]
    assert variables["SONDE_INTERVAL"] == "1s"
    assert "hunter2" not in variables["SONDE_API_TOKEN"]
