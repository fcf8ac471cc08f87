"""`sonde actions`: list, show and test actions."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from sonde.cli.options.actions import with_actions
from sonde.cli.options.rules import with_rules
from sonde.errors import UsageError
from sonde.settings import load_settings
from tests.fakes.web_server import WebServer


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_actions_are_listed_with_configured_ones(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "sonde.toml").write_text('[actions.team]\nkind = "webhook"\nurl = "http://x"')
    assert run_command_line(["actions"]) == 0
    printed = capsys.readouterr().out
    for name in ("command", "email", "log", "profile", "sms", "stop", "webhook"):
        assert f"\n{name} " in f"\n{printed}"
    assert "Configured here: team (webhook)" in printed


def test_action_is_shown_with_its_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["actions", "stop"]) == 0
    printed = capsys.readouterr().out
    assert "min_severity: minimum severity of a finding" in printed
    assert '(default: "critical")' in printed
    assert run_command_line(["actions", "sms", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"to", "gateway", "cool_down"} <= {setting["name"] for setting in document["settings"]}


def test_test_finding_is_sent_and_marked_as_a_test(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with WebServer() as server:
        config = folder / "other.toml"
        config.write_text(f'[actions.team]\nkind = "webhook"\nurl = "{server.url}"')
        assert run_command_line(["actions", "test", "team", "--config", str(config)]) == 0
    assert capsys.readouterr().out == "team: 127.0.0.1 returned HTTP 200\n"
    document = json.loads(server.received[0].body)
    assert (document["trial"], document["rule"]) == (True, "Trial")


def test_failed_action_test_is_reported_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with WebServer([404]) as server:
        (folder / "sonde.toml").write_text(f'[actions.webhook]\nurl = "{server.url}"')
        assert run_command_line(["actions", "test", "webhook"]) == 1
    assert capsys.readouterr().err == "sonde: webhook: 127.0.0.1 returned HTTP 404\n"


@pytest.mark.parametrize(
    ("rules", "stop_rule"),
    [
        ('[rules.ExplodingTensor]\nactions = ["stop"]', "ExplodingTensor"),
        ('[rules.exploding_tensor]\nactions = ["end"]', "ExplodingTensor"),
        ('[rules.ExplodingTensor]\nactions = ["log"]', ""),
        ('[rules.LossSpike]\nactions = ["stop"]', ""),
    ],
)
def test_stop_on_non_finite_values_happens_before_damage(
    folder: Path, rules: str, stop_rule: str
) -> None:
    (folder / "sonde.toml").write_text(f'{rules}\n[actions.end]\nkind = "stop"')
    options = Namespace(action=[], no_rules=False, rules="", set=[])
    settings = with_rules(with_actions(load_settings(None), options), options)
    assert settings.hook.stop_on_non_finite is bool(stop_rule)
    assert settings.hook.stop_rule == stop_rule


@pytest.mark.parametrize(
    ("options", "live"),
    [
        ({"no_rules": True, "rules": ""}, "true"),
        ({"no_rules": False, "rules": "StepOutlier"}, "true"),
        ({"no_rules": False, "rules": ""}, "false"),
    ],
)
def test_job_is_not_stopped_for_a_rule_that_does_not_run(
    folder: Path, options: dict[str, object], live: str
) -> None:
    rules = f'[rules]\nlive = {live}\n[rules.ExplodingTensor]\nactions = ["stop"]'
    (folder / "sonde.toml").write_text(rules)
    entry = Namespace(action=[], set=[], **options)
    settings = with_rules(with_actions(load_settings(None), entry), entry)
    assert settings.hook.stop_on_non_finite is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fax"], "Unknown action 'fax'"),
        (["test"], "Usage: sonde actions"),
        (["test", "email"], "[actions.email] requires to"),
        (["test", "a", "b"], "Usage: sonde actions"),
    ],
)
def test_invalid_arguments_are_usage_errors(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["actions", *words]) == 2
    assert message in capsys.readouterr().err


def test_actions_require_live_rules(tmp_path: Path) -> None:
    (tmp_path / "sonde.toml").write_text("[rules]\nlive = false\n")
    settings = load_settings(tmp_path / "sonde.toml")
    with pytest.raises(UsageError, match="needs live rules"):
        with_actions(settings, Namespace(action=["stop"], no_rules=False))
