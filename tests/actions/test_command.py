"""The command action."""

import json
import sys
from pathlib import Path

import pytest

from sonde.errors import ActionError, UsageError
from tests.fakes.occasions import action, occasion

SAVE_INPUT = """
import json, os, pathlib, sys
names = [name for name in os.environ if name.startswith("SONDE_FINDING_")]
variables = {name: os.environ[name] for name in names}
received = {"finding": json.load(sys.stdin), "variables": variables}
pathlib.Path("received.json").write_text(json.dumps(received))
"""


def program(code: str, more: str = "") -> str:
    return f'kind = "command"\nrun = ["{sys.executable}", "-c", """{code}"""]\n{more}'


def test_a_program_gets_the_finding_as_json_and_as_variables(tmp_path: Path) -> None:
    message = action(tmp_path, program(SAVE_INPUT)).perform(occasion())
    received = json.loads((tmp_path / "received.json").read_text())
    assert message == f"ran {sys.executable}"
    assert received["finding"]["rule"] == "LossSpike"
    assert received["variables"]["SONDE_FINDING_MESSAGE"] == "The loss jumped to 17."
    assert received["variables"]["SONDE_FINDING_SEVERITY"] == "critical"


def test_a_failing_program_is_reported_with_its_output(tmp_path: Path) -> None:
    failing = action(tmp_path, program("import sys; sys.exit('no paper')"))
    with pytest.raises(ActionError, match="exited with code 1: no paper") as failed:
        failing.perform(occasion())
    assert not failed.value.is_final


def test_a_program_that_does_not_exit_is_terminated(tmp_path: Path) -> None:
    slow = action(tmp_path, program("import time; time.sleep(60)", 'timeout = "200ms"'))
    with pytest.raises(ActionError, match=r"killed .* after 200 ms") as failed:
        slow.perform(occasion())
    assert failed.value.is_final


def test_a_script_next_to_the_configuration_is_found(tmp_path: Path) -> None:
    script = tmp_path / "page.sh"
    script.write_text("#!/bin/sh\ntouch done\n")
    script.chmod(0o755)
    action(tmp_path, 'kind = "command"\nrun = ["./page.sh"]').perform(occasion())
    assert (tmp_path / "done").exists()


@pytest.mark.parametrize("run", ["[]", '["no-such-program"]', '["./nowhere.sh"]', '"ls"'])
def test_a_missing_program_is_an_error_before_the_job_starts(tmp_path: Path, run: str) -> None:
    with pytest.raises(UsageError, match="run"):
        action(tmp_path, f'kind = "command"\nrun = {run}')
