"""Every program has a valid label, is in the folder of its rule, and is a plain script."""

import ast
import sys

import pytest

from sonde.rules import load_rule, rule_names
from tests.faults import __main__ as runner
from tests.faults.catalog import PROGRAMS
from tests.faults.program import HEALTHY_FOLDER, Purpose

FILE_NAMES = {load_rule(name).name(): name for name in rule_names()}


def test_every_program_lies_in_the_folder_of_the_rule_in_its_label() -> None:
    misplaced = [
        f"{program.folder}/{program.name}"
        for program in PROGRAMS
        if program.folder != FILE_NAMES.get(program.label.rule or "", HEALTHY_FOLDER)
    ]
    assert misplaced == []


def test_labels_name_rules_that_exist() -> None:
    for program in PROGRAMS:
        label = program.label
        rules = {label.rule, *label.alternatives, *label.side_effects, *label.parameters}
        assert rules - {None} <= FILE_NAMES.keys(), program.name


def test_names_of_programs_are_unique() -> None:
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("purpose", Purpose)
def test_every_purpose_has_enough_programs_or_none(purpose: Purpose) -> None:
    programs = [program for program in PROGRAMS if program.purpose is purpose]
    faults = sum(program.has_fault for program in programs)
    assert purpose is Purpose.HELD_OUT or programs
    assert not programs or (faults >= 20 and len(programs) - faults >= 8)


def test_programs_are_plain_training_scripts() -> None:
    for program in PROGRAMS:
        source = program.path.read_text()
        names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
        assert "sonde" not in source, program.name
        assert names.isdisjoint({"exec", "eval"}), program.name


def test_the_runner_reports_that_no_program_is_held_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = [program for program in PROGRAMS if program.purpose is not Purpose.HELD_OUT]
    monkeypatch.setattr(runner, "PROGRAMS", programs)
    monkeypatch.setattr(sys, "argv", ["faults", "--part", "held out", "--seeds", "1"])
    assert runner.main() == 2
    assert runner.NOTHING_HELD_OUT in capsys.readouterr().out
