"""Errors for unknown commands, options and rules."""

import pytest

from sonde.cli._main import run_command_line


def test_typo_in_a_command_suggests_the_right_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_command_line(["statsu", "resnet"]) == 2
    output = capsys.readouterr().err
    assert output == ("sonde: Unknown command 'statsu'. Did you mean 'status'? See: sonde --help\n")


def test_unknown_option_refers_to_the_help_of_its_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_command_line(["status", "resnet", "--colour"]) == 2
    assert "Unrecognized arguments: --colour. See: sonde status --help" in capsys.readouterr().err
    assert run_command_line(["--colour"]) == 2
    assert "Unrecognized arguments: --colour. See: sonde --help" in capsys.readouterr().err


def test_typo_in_a_rule_suggests_the_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["rules", "LossNotDecreasin"]) == 2
    assert "Did you mean 'LossNotDecreasing'? Available: " in capsys.readouterr().err
