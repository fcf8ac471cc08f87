"""Configurations of SageMaker Debugger as settings of Sonde."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sonde.cli._main import run_command_line
from sonde.errors import UsageError
from sonde.records.finding import Setting
from sonde.records.profile import ProfileKind
from sonde.records.step import Mode
from sonde.rules._selection import select_rules
from sonde.settings import RunSettings, load_settings
from sonde.settings.smdebug import convert_configuration

ACTIONS = [
    {"name": "stoptraining", "training_job_prefix": "resnet"},
    {"name": "email", "endpoint": "me@example.org"},
    {"name": "sms", "endpoint": "+15550100"},
]
PROFILING = {
    "DetailedProfilingConfig": '{"StartStep": 5, "NumSteps": 2}',
    "PythonProfilingConfig": '{"StartStep": 9, "cProfileTimer": "cpu_time"}',
    "DataloaderProfilingConfig": "{'StartTimeInSecSinceEpoch': 1700000000, 'Duration': 30}",
}


def collection(name: str, **parameters: str) -> dict[str, Any]:
    named = {key.replace("__", "."): value for key, value in parameters.items()}
    return {"CollectionName": name, "CollectionParameters": named}


def rule(name: str, **parameters: str) -> dict[str, Any]:
    return {
        "RuleConfigurationName": name,
        "InstanceType": "ml.t3.medium",
        "RuleParameters": {"rule_to_invoke": name, **parameters},
    }


REQUEST = {
    "DebugHookConfig": {
        "S3OutputPath": "s3://bucket/prefix",
        "HookParameters": {"save_interval": "100", "include_workers": "all"},
        "CollectionConfigurations": [
            collection("losses", save_interval="10"),
            collection("gradients", save_interval="10", start_step="5"),
            collection("weights", train__save_interval="50", eval__end_step="0"),
            collection("optimizer_variables", save_histogram="true"),
            collection(
                "relus", include_regex=".*relu, .*tanh", reductions="mean,l2", save_steps="3, 7"
            ),
            collection("layers"),
        ],
    },
    "DebugRuleConfigurations": [
        rule(
            "LossNotDecreasing",
            num_steps="20",
            mode="TRAIN",
            use_losses_collection="True",
            action_json=json.dumps(ACTIONS).replace('"', '\\"'),
        ),
        rule("SaturatedActivation", tensor_regex=".*tanh_input,.*x", threshold_tanh="(-9, 9)"),
        rule("SimilarAcrossRuns", other_trial_0="first", other_trial_1="second"),
        rule("CustomGradientRule", source_s3_uri="s3://bucket/my_rule.py"),
        rule("PlotVisualizations"),
        rule("StalledTrainingRule", training_job_name_prefix="resnet", threshold="600"),
    ],
    "ProfilerConfig": {"ProfilingIntervalInMilliseconds": 200, "ProfilingParameters": PROFILING},
    "ProfilerRuleConfigurations": [
        rule("ProfilerReport", cpubottleneck_cpu_threshold="80"),
        rule("StepOutlier", scan_interval_us="60000000"),
    ],
    "TensorBoardOutputConfig": {"LocalPath": "/tmp/tb"},
}


def converted(
    document: object, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[str, RunSettings]:
    """The printed text, and the settings that it contains."""
    source, target = folder / "smdebug.json", folder / "sonde.toml"
    source.write_text(json.dumps(document))
    assert run_command_line(["rules", "--from", str(source)]) == 0
    text = capsys.readouterr().out
    target.write_text(text)
    return text, load_settings(target)


def test_collections_become_save_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, settings = converted(REQUEST, tmp_path, capsys)
    by_name = {item.name: item for item in settings.hook.collections}
    assert list(by_name) == ["gradients", "weights", "optimizer_state", "relus"]
    gradients = by_name["gradients"].schedules[Mode.TRAIN]
    assert (gradients.every, gradients.start) == (10, 10)  # multiples of the interval
    assert by_name["gradients"].values
    weights = by_name["weights"].schedules
    assert {mode: schedule.every for mode, schedule in weights.items()} == {
        "train": 50,
        "predict": 100,
    }
    assert by_name["optimizer_state"].histogram
    relus = by_name["relus"]
    assert (relus.include, relus.reductions) == (".*relu|.*tanh", ("mean", "l2_norm"))
    assert relus.schedules[Mode.EVAL].steps == frozenset((3, 7))
    assert not relus.values


def test_profiler_windows_and_the_interval_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, settings = converted(REQUEST, tmp_path, capsys)
    assert settings.interval_seconds == 0.2
    windows = {window.kind: window for window in settings.hook.profile}
    operators, python = windows[ProfileKind.OPERATORS], windows[ProfileKind.PYTHON]
    assert (operators.start_step, operators.num_steps) == (5, 2)
    assert python.options == {"profiler": "cprofile", "timer": "cpu"}
    assert windows[ProfileKind.DATALOADER].duration_seconds == 30


def test_rules_have_the_same_parameters_and_actions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, settings = converted(REQUEST, tmp_path, capsys)
    rules = {item.name(): item for item in select_rules((), settings.rules)}
    chosen = {
        name: {key: item.parameters[key] for key in item.explicit_parameters}
        for name, item in rules.items()
        if item.explicit_parameters
    }
    assert chosen == {
        "LossNotDecreasing": {"num_steps": 20, "mode": "train", "use_losses_collection": True},
        "SaturatedActivation": {
            "tensor_regex": "(?:.*tanh_input)|(?:.*x)",
            "threshold_tanh_min": -9.0,
            "threshold_tanh_max": 9.0,
        },
        "SimilarAcrossRuns": {"other_trials": ("first", "second")},
        "StalledTrainingRule": {"threshold": 600.0},
        "CPUBottleneck": {"cpu_threshold": 80.0},
        "StepOutlier": {"scan_interval_us": 60_000_000},
    }
    assert {item.setting for item in rules.values()} == {Setting.CALIBRATED}
    [loss] = [item for item in settings.rules.rules if item.rule == "LossNotDecreasing"]
    assert loss.actions == ("stop", "email", "sms")
    assert settings.actions.of("email").table["to"] == ["me@example.org"]


def test_what_has_no_counterpart_is_a_comment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, _ = converted(REQUEST, tmp_path, capsys)
    comments = " ".join(line.lstrip("# ") for line in text.splitlines() if line.startswith("#"))
    for expected in (
        "S3OutputPath s3://bucket/prefix: pass the location as `sonde run --store`",
        "include_workers: every worker is recorded",
        "collection losses: recorded at every step",
        "collection layers: no counterpart",
        "InstanceType: no counterpart, rules run next to the job",
        "custom rule CustomGradientRule in s3://bucket/my_rule.py: rewrite it",
        "rule PlotVisualizations: PlotVisualizations is not a rule: use the charts",
        "prefix resnet: stop ends only the job itself",
        "StartTimeInSecSinceEpoch is a date",
        "TensorBoardOutputConfig: no counterpart",
    ):
        assert expected in comments


FILES: dict[str, tuple[object, Mapping[str, Any]]] = {
    "the file of the hook": (
        {"LocalPath": "/tmp/x", "CollectionConfiguration": [collection("weights")]},
        {"save": {"collection": [{"name": "weights", "every": 500, "values": True}]}},
    ),
    "the file of the profiler": (
        {"ProfilingIntervalInMilliseconds": "500", "DisableProfiler": "true"},
        {
            "system": {"interval": "500ms"},
            "profile": dict.fromkeys(("operators", "dataloader", "python", "distributed"), False),
        },
    ),
    "a list of rules": ([rule("TreeDepth", depth="6")], {"rules": {"TreeDepth": {"depth": 6}}}),
    "rules with their collections": (
        {"Overfit": {"DebugRuleConfiguration": rule("Overfit", patience="2")}},
        {"rules": {"Overfit": {"patience": 2}}},
    ),
    "a rule of the first API": (
        {
            "rules": [
                {"RuleName": "Overtraining", "RuntimeConfigurations": {"patience_train": "10"}}
            ]
        },
        {"rules": {"Overtraining": {"patience_train": 10}}},
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_every_form_of_the_configuration_is_read(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document, expected = FILES[name]
    text, _ = converted(document, tmp_path, capsys)
    assert tomllib.loads(text) == expected


@pytest.mark.parametrize("text", ["{", "{}", '{"a": 1}', "[]", "3"])
def test_a_file_without_a_configuration_is_an_error(text: str, tmp_path: Path) -> None:
    source = tmp_path / "x.json"
    source.write_text(text)
    with pytest.raises(UsageError, match=r"cannot be read as JSON|has no configuration"):
        convert_configuration(source, lambda name, parameters: (name, parameters))
