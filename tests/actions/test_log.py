"""The log action."""

import json
from pathlib import Path

import pytest

from sonde.actions import load_action
from sonde.errors import UsageError
from sonde.settings import ActionsSettings
from tests.fakes.occasions import action, occasion


def test_every_finding_is_a_line(tmp_path: Path) -> None:
    log = action(tmp_path, 'kind = "log"\nfile = "found.log"')
    for rule in ("LossSpike", "Overfit"):
        log.perform(occasion(rule=rule, message="one\ntwo"))
    lines = (tmp_path / "found.log").read_text().splitlines()
    assert [line.partition(" ")[2] for line in lines] == [
        f"resnet: {rule} (critical): one two" for rule in ("LossSpike", "Overfit")
    ]


def test_lines_may_be_json(tmp_path: Path) -> None:
    action(tmp_path, 'kind = "log"\nfile = "f"\nshape = "json"').perform(occasion())
    assert json.loads((tmp_path / "f").read_text())["rule"] == "LossSpike"


def test_it_needs_no_settings(tmp_path: Path) -> None:
    log = load_action("log").build(ActionsSettings().of("log"), tmp_path)
    message = log.perform(occasion())
    assert message == f"appended to {tmp_path}/sonde-findings.log"


def test_a_file_that_cannot_be_written_is_an_error_before_the_job_starts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="annot write"):
        action(tmp_path, 'kind = "log"\nfile = "nowhere/f"')
