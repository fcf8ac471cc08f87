"""The profiler is not stopped while a thread of a collective still writes into it."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sonde.hook.torch.profiler.gloo_threads import wait_for_gloo


@pytest.fixture(autouse=True)
def process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)


def add_thread(tasks: Path, number: int, name: str, state: str) -> None:
    (tasks / str(number)).mkdir(parents=True)
    (tasks / str(number) / "stat").write_text(f"{number} ({name}) {state} 1 1 0 -1")


def test_sleeping_threads_do_not_delay_the_end_of_a_recording(tmp_path: Path) -> None:
    add_thread(tmp_path, 1, "python (odd) name", "R")
    add_thread(tmp_path, 2, "pt_gloo_runloop", "S")
    assert wait_for_gloo(tmp_path, max_polls=1)


def test_a_recording_is_given_up_if_a_collective_does_not_end(tmp_path: Path) -> None:
    add_thread(tmp_path, 1, "pt_gloo_runloop", "S")
    add_thread(tmp_path, 2, "pt_gloo_runloop", "R")
    assert not wait_for_gloo(tmp_path, max_polls=3)


def test_threads_that_end_meanwhile_and_systems_without_proc_are_no_obstacle(
    tmp_path: Path,
) -> None:
    (tmp_path / "7").mkdir()
    assert wait_for_gloo(tmp_path, max_polls=1)
    assert wait_for_gloo(tmp_path / "missing", max_polls=1)


def test_without_a_process_group_no_thread_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "torch.distributed")
    add_thread(tmp_path, 1, "pt_gloo_runloop", "R")
    assert wait_for_gloo(tmp_path, max_polls=1)
