"""Every rule and parameter that the manuals of SageMaker Debugger document, with their defaults."""

import ast
import inspect
from typing import Any

import pytest

from sonde.errors import UsageError
from sonde.records.finding import Setting
from sonde.rules import Rule, load_rule
from sonde.rules._parameters import build_rule
from sonde.rules._selection import select_rules

ANY: dict[str, Any] = {"collection_names": None, "tensor_regex": None}
SCANNED: dict[str, Any] = {"scan_interval_us": 60_000_000}

# Defaults of the manuals, by rule. Where a manual names tensors of MXNet, all inputs are the
# default here. `base_trial` is the job itself.
MANUAL: dict[str, dict[str, Any]] = {
    "VanishingGradient": {"threshold": 1e-7},
    "ExplodingTensor": {**ANY, "only_nan": False},
    "DeadRelu": {
        "tensor_regex": ".*relu_output",
        "threshold_inactivity": 1.0,
        "threshold_layer": 50.0,
    },
    "SaturatedActivation": {
        "collection_names": None,
        "tensor_regex": ".*tanh_input|.*sigmoid_input",
        "threshold_tanh_min": -9.4999,
        "threshold_tanh_max": 9.4999,
        "threshold_sigmoid_min": -23.0,
        "threshold_sigmoid_max": 16.99999,
        "threshold_inactivity": 1.0,
        "threshold_layer": 50.0,
    },
    "PoorWeightInitialization": {
        "activation_inputs_regex": ".*relu_input",
        "threshold": 10.0,
        "distribution_range": 0.001,
        "patience": 5,
        "steps": 10,
    },
    "WeightUpdateRatio": {
        "num_steps": None,
        "large_threshold": 10.0,
        "small_threshold": 1e-8,
        "epsilon": 1e-9,
    },
    "AllZero": {**ANY, "threshold": 100.0},
    "ClassImbalance": {
        "threshold_imbalance": 10.0,
        "threshold_misprediction": 0.7,
        "samples": 500,
        "argmax": False,
        "labels_regex": ".*labels",
        "predictions_regex": ".*predictions",
    },
    "LossNotDecreasing": {
        **ANY,
        "use_losses_collection": True,
        "num_steps": 10,
        "diff_percent": 0.1,
        "increase_threshold_percent": 5.0,
        "mode": None,
    },
    "Overfit": {"tensor_regex": None, "start_step": 0, "patience": 1, "ratio_threshold": 0.1},
    "Overtraining": {"patience_train": 5, "patience_validation": 10, "delta": 0.1},
    "SimilarAcrossRuns": {**ANY, "other_trial": None, "other_trials": ()},
    "StalledTrainingRule": {
        "threshold": 1800.0,
        "stop_training_on_fire": False,
        "training_job_name_prefix": None,
    },
    "TensorVariance": {**ANY, "max_threshold": None, "min_threshold": None},
    "UnchangedTensor": {**ANY, "num_steps": 3, "rtol": 1e-5, "atol": 1e-8, "equal_nan": False},
    "CheckInputImages": {
        "threshold_mean": 0.2,
        "threshold_samples": 500,
        "regex": None,
        "channel": 1,
    },
    "NLPSequenceRatio": {
        "tensor_regex": None,
        "token_values": (0,),
        "token_thresholds_percent": (50.0,),
    },
    "Confusion": {
        "category_no": None,
        "labels": ".*labels",
        "predictions": ".*predictions",
        "labels_collection": "labels",
        "predictions_collection": "predictions",
        "min_diag": 0.9,
        "max_off_diag": 0.1,
    },
    "FeatureImportanceOverweight": {
        "threshold": 0.8,
        "nfeatures": 3,
        "tensor_regex": ".*feature_importance/weight",
    },
    "TreeDepth": {"depth": 4},
    "CreateXgboostReport": {},
    "BatchSize": {
        "cpu_threshold_p95": 70.0,
        "gpu_threshold_p95": 70.0,
        "gpu_memory_threshold_p95": 70.0,
        "patience": 100,
        "window": 500,
        **SCANNED,
    },
    "CPUBottleneck": {
        "threshold": 50.0,
        "gpu_threshold": 10.0,
        "cpu_threshold": 90.0,
        "patience": 100,
        **SCANNED,
    },
    "Dataloader": {"min_threshold": 70.0, "max_threshold": 200.0, **SCANNED},
    "GPUMemoryIncrease": {"increase": 10.0, "patience": 100, "window": 500, **SCANNED},
    "IOBottleneck": {
        "threshold": 50.0,
        "gpu_threshold": 70.0,
        "io_threshold": 50.0,
        "patience": 1000,
        **SCANNED,
    },
    "LoadBalancing": {"threshold": 0.5, "patience": 10, **SCANNED},
    "LowGPUUtilization": {
        "threshold_p95": 70.0,
        "threshold_p5": 10.0,
        "patience": 1000,
        "window": 500,
        **SCANNED,
    },
    "OverallSystemUsage": SCANNED,
    "OverallFrameworkMetrics": SCANNED,
    "MaxInitializationTime": {"threshold": 20.0, **SCANNED},
    "StepOutlier": {"stddev": 5.0, "n_outliers": 10, "mode": None, **SCANNED},
    "ProfilerReport": {},
}

# Defaults of the published report, which the calibrated setting keeps.
REPORTED: dict[str, dict[str, Any]] = {
    "StepOutlier": {"stddev": 3.0, "n_outliers": 10, "mode": None},
    "LoadBalancing": {"threshold": 0.2},
    "IOBottleneck": {"threshold": 50.0, "io_threshold": 50.0, "gpu_threshold": 10.0},
    "GPUMemoryIncrease": {"increase": 5.0, "window": 10},
}

# The rule pages say so: what the hook records already answers these.
NO_EFFECT = {("SaturatedActivation", "threshold_inactivity"), ("ClassImbalance", "argmax")}

OTHER_VALUES: dict[object, object] = {
    "collection_names": "gradients, weights",
    "tensor_regex": "^fc1, ^fc2",
    "other_trial": "first",
    "other_trials": ["first", "second"],
    "mode": "ModeKeys.EVAL",
    "training_job_name_prefix": "nightly-",
    "regex": "image",
    "token_values": "3",
    "token_thresholds_percent": "20.5",
    "num_steps": "7",
    "category_no": "3",
    "max_threshold": "2.5",
    "min_threshold": "0.5",
}

PARAMETERS = [(rule, name) for rule, defaults in MANUAL.items() for name in defaults]


@pytest.mark.parametrize("rule", MANUAL)
def test_classic_defaults_are_those_of_the_manual(rule: str) -> None:
    built = build_rule(load_rule(rule), {"setting": "classic"})
    assert {name: built.parameters[name] for name in MANUAL[rule]} == MANUAL[rule]
    assert built.explicit_parameters == {"setting"}


@pytest.mark.parametrize("rule", REPORTED)
def test_calibrated_defaults_are_those_of_the_published_report(rule: str) -> None:
    built = build_rule(load_rule(rule), {})
    assert {name: built.parameters[name] for name in REPORTED[rule]} == REPORTED[rule]


@pytest.mark.parametrize(("rule", "name"), PARAMETERS)
def test_every_documented_parameter_is_accepted_as_the_text_that_the_service_took(
    rule: str, name: str
) -> None:
    default = MANUAL[rule][name]
    is_number = isinstance(default, int | float) and not isinstance(default, bool)
    value = str(not default) if isinstance(default, bool) else OTHER_VALUES.get(name, default)
    value = str(default) if is_number else value
    built = build_rule(load_rule(rule), {"setting": Setting.CLASSIC, name: value})
    assert built.explicit_parameters == {"setting", name}
    is_default = built.parameters[name] == default
    assert is_default is (is_number or value == default)


@pytest.mark.parametrize(("rule", "name"), PARAMETERS)
def test_every_documented_parameter_is_read_by_its_rule(rule: str, name: str) -> None:
    kind = load_rule(rule)
    is_read = name in _parameters_read(kind)
    assert is_read is ((rule, name) not in NO_EFFECT)
    assert is_read or f"`{name}`" in kind.pages().decides


def test_a_mode_has_any_case_and_the_form_of_the_old_client() -> None:
    for text in ("TRAIN", "train", "ModeKeys.TRAIN", "modes.TRAIN"):
        assert build_rule(load_rule("StepOutlier"), {"mode": text}).parameters["mode"] == "train"
    assert build_rule(load_rule("StepOutlier"), {"mode": "GLOBAL"}).parameters["mode"] == "global"
    with pytest.raises(UsageError, match="must be train, eval, predict, global or none"):
        build_rule(load_rule("StepOutlier"), {"mode": "training"})


def test_a_list_of_expressions_matches_what_any_of_them_matches() -> None:
    def pattern(value: object) -> object:
        return build_rule(load_rule("AllZero"), {"tensor_regex": value}).parameters["tensor_regex"]

    assert pattern(["fc1", "fc2"]) == "(?:fc1)|(?:fc2)"
    assert pattern("fc1, fc2") == "(?:fc1)|(?:fc2)"
    assert pattern("fc[1,2]x{1,3}") == "fc[1,2]x{1,3}"
    with pytest.raises(UsageError, match="must be a regular expression or a list of them"):
        pattern(["("])


def test_the_scan_interval_sets_the_length_of_a_window() -> None:
    rule = build_rule(load_rule("StepOutlier"), {"scan_interval_us": "5000000"})
    assert rule.window_seconds == 5.0
    assert build_rule(load_rule("StepOutlier"), {}).window_seconds is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("PlotVisualizations", "PlotVisualizations is not a rule: use the charts of"),
        ("StalledTraining", "StalledTraining is not a rule: use StalledTrainingRule."),
        ("StopTraining", "it is an action of findings"),
    ],
)
def test_a_name_without_a_rule_says_what_replaces_it(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        select_rules([name])


def _parameters_read(kind: type[Rule]) -> set[str]:
    """The attributes that the modules of a rule and of the engine read."""
    names: set[str] = set()
    for base in kind.__mro__:
        if base is not Rule and issubclass(base, Rule):
            tree = ast.parse(inspect.getsource(inspect.getmodule(base) or base))
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
                    names.add(node.attr)
    return names | {"stop_training_on_fire", "training_job_name_prefix"}
