"""Selection of rules by options and configuration."""

import argparse
import json
from fnmatch import fnmatchcase

import pytest

from sonde.cli._main import run_command_line
from sonde.cli.options.rules import with_rules
from sonde.errors import UsageError
from sonde.records.need import Observations, Statistics
from sonde.records.observation import ObservationKind
from sonde.records.tensor import BUILT_IN_COLLECTIONS
from sonde.rules import load_rule, rule_names
from sonde.settings import RunSettings


def options(**options: object) -> argparse.Namespace:
    typical: dict[str, object] = {"rules": "", "set": [], "no_rules": False}
    return argparse.Namespace(**{**typical, **options})


def test_by_default_all_rules_run_and_none_are_loaded() -> None:
    settings = with_rules(RunSettings(), options())
    assert settings.hook.needed is None
    assert settings.rule_options.words == ()


def test_without_rules_what_is_recorded_stays_the_same() -> None:
    settings = with_rules(RunSettings(), options(no_rules=True))
    assert settings.rule_options.is_off
    assert settings.hook == RunSettings().hook


def test_rules_and_no_rules_cannot_be_combined() -> None:
    with pytest.raises(UsageError, match="cannot be combined"):
        with_rules(RunSettings(), options(rules="Overfit", no_rules=True))


def test_selected_rules_report_what_they_need(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["rules", "--json", "--rules", "DeadRelu,vanishing_gradient"]
    assert run_command_line([*words, "--set", "VanishingGradient.threshold=1e-6"]) == 0
    rules = {rule["rule"]: rule for rule in json.loads(capsys.readouterr().out)["rules"]}
    assert rules["VanishingGradient"]["parameters"]["threshold"] == 1e-6
    assert "gradients" in rules["VanishingGradient"]["looks_at"]
    assert rules["DeadRelu"]["looks_at"]


@pytest.mark.parametrize("name", rule_names())
def test_rules_need_only_what_the_hook_can_record(name: str) -> None:
    kinds = [entry.value for entry in ObservationKind]
    for need in load_rule(name).needs:
        if isinstance(need, Statistics):
            assert need.collection in BUILT_IN_COLLECTIONS
        if isinstance(need, Observations):
            assert any(fnmatchcase(kind, need.kind) for kind in kinds), need.kind
