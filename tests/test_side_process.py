"""Side processes import the installed package and no other module of that name."""

from pathlib import Path

import pytest

from sonde.clock import SystemClock
from sonde.side_process import SideProcess, sonde_command


def test_a_side_process_runs_if_the_package_is_found_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "sources" / "sonde"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("open('ran', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "sources")
    SideProcess(sonde_command(), SystemClock()).run_once_more(60)
    assert (tmp_path / "ran").exists()


def test_a_script_module_named_sonde_is_not_mistaken_for_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sonde.py").write_text("open('ran', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    SideProcess(sonde_command("--version"), SystemClock()).run_once_more(60)
    assert not (tmp_path / "ran").exists()
