"""Which actions the findings of a rule trigger."""

from dataclasses import replace
from pathlib import Path

import pytest

from sonde.actions.stop import Stop
from sonde.engine.action_plan import ActionPlan, plan_actions
from sonde.errors import UsageError
from sonde.records.finding import Severity
from sonde.rules.steps.stalled_training_rule import StalledTrainingRule
from sonde.rules.steps.step_outlier import StepOutlier
from sonde.rules.tensors.loss_not_decreasing import LossNotDecreasing
from sonde.settings import RunSettings, load_settings


def settings(folder: Path, text: str, requests: str = "") -> RunSettings:
    config = folder / "sonde.toml"
    config.write_text(text)
    loaded = load_settings(config)
    return replace(loaded, actions=loaded.actions.with_requested([requests]))


def names(plan: ActionPlan) -> dict[str, list[str]]:
    return {rule: [action.name for action in actions] for rule, actions in plan.by_rule.items()}


def test_without_settings_there_are_no_actions(tmp_path: Path) -> None:
    assert plan_actions(RunSettings(), [StepOutlier()], tmp_path).is_empty


def test_actions_are_set_for_all_rules_or_for_one(tmp_path: Path) -> None:
    text = """
[rules]
actions = ["log"]
[rules.loss_not_decreasing]
actions = ["stop", "page"]
[actions.page]
kind = "command"
run = ["true"]
"""
    rules = [StepOutlier(), LossNotDecreasing()]
    plan = plan_actions(settings(tmp_path, text), rules, tmp_path)
    assert names(plan) == {"StepOutlier": ["log"], "LossNotDecreasing": ["stop", "page"]}
    assert plan.after("LossNotDecreasing")[1] is plan.actions["page"]


def test_actions_of_the_command_line_apply_to_all_rules(tmp_path: Path) -> None:
    text = '[rules.StepOutlier]\nactions = ["stop"]'
    run_settings = settings(tmp_path, text, requests="log, stop,log")
    plan = plan_actions(run_settings, [StepOutlier(), LossNotDecreasing()], tmp_path)
    assert names(plan) == {"StepOutlier": ["stop", "log"], "LossNotDecreasing": ["log", "stop"]}


def test_a_rule_can_have_no_actions(tmp_path: Path) -> None:
    text = '[rules]\nactions = ["log"]\n[rules.StepOutlier]\nactions = []'
    plan = plan_actions(settings(tmp_path, text), [StepOutlier()], tmp_path)
    assert plan.is_empty


def test_a_rule_parameter_can_add_the_stop_action(tmp_path: Path) -> None:
    rule = StalledTrainingRule(stop_training_on_fire=True)
    plan = plan_actions(RunSettings(), [rule, StepOutlier()], tmp_path)
    assert names(plan) == {"StalledTrainingRule": ["stop"], "StepOutlier": []}
    (stop,) = plan.after("StalledTrainingRule")
    assert stop.min_severity is Severity.INFO


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[rules]\nactions = ["fax"]', r"Unknown action 'fax'\. Available: command, email"),
        ('[rules.StepOutlier]\nactions = "stop"', "must be a list in square brackets"),
        ('[actions]\nurl = "x"', r"Put the settings of an action under \[actions\.NAME\]"),
        ('[actions.fax]\nto = "x"', r"\[actions\.fax\] Unknown action 'fax'"),
        ('[actions.page]\nkind = "fax"', r"\[actions\.page\] Unknown action 'fax'"),
        ("[actions.stop]\nspeed = 1", "unknown key speed = 1. Valid keys: cool_down, grace"),
        ("[actions.email]", "requires to"),
    ],
)
def test_invalid_action_settings_are_errors_before_any_rule_fires(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        plan_actions(settings(tmp_path, text), [StepOutlier()], tmp_path)


def test_the_stop_that_a_parameter_adds_is_limited_to_jobs_with_a_prefix(tmp_path: Path) -> None:
    rule = StalledTrainingRule(stop_training_on_fire=True, training_job_name_prefix="nightly-")
    (stop,) = plan_actions(RunSettings(), [rule], tmp_path).after("StalledTrainingRule")
    assert isinstance(stop, Stop)
    assert stop.job_prefix == "nightly-"
