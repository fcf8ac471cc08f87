"""Parameters of rules from files, the command line and calls."""

import ast
import dataclasses
import inspect
from pathlib import Path

import pytest

import sonde
import sonde.rules
from sonde.errors import UsageError
from sonde.records.finding import Setting
from sonde.rules import file_name, load_rule, rule_names
from sonde.rules._parameters import build_rule, describe_parameters
from sonde.rules._rule import Section
from sonde.rules._selection import parse_assignments, select_rules
from sonde.rules.system.low_gpu_utilization import LowGPUUtilization
from sonde.rules.tensors.dead_relu import DeadRelu
from sonde.rules.tensors.loss_not_decreasing import LossNotDecreasing
from tests.rules.own_rules import LossTooLarge


def test_both_spellings_name_a_rule() -> None:
    assert file_name("LowGPUUtilization") == "low_gpu_utilization"
    assert [file_name(rule) for rule in ("CPUBottleneck", "IOBottleneck", "NLPSequenceRatio")] == [
        *("cpu_bottleneck", "io_bottleneck", "nlp_sequence_ratio"),
    ]
    assert load_rule("LowGPUUtilization") is load_rule("low_gpu_utilization")


@pytest.mark.parametrize("name", rule_names())
def test_every_rule_is_named_after_its_file_and_documented(name: str) -> None:
    kind = load_rule(name)
    pages = kind.pages()
    assert file_name(kind.name()) == name
    assert pages.question
    assert pages.why
    assert 1 <= len(pages.conditions) <= 5
    assert all(rule[0].isupper() or rule[0] in "`0123456789" for rule in pages.conditions)
    assert all(rule.endswith(".") for rule in pages.conditions)
    assert pages.advice
    assert kind.needs
    assert all(parameter.default for parameter in describe_parameters(kind))


@pytest.mark.parametrize("name", rule_names())
def test_every_rule_declares_its_section_and_cannot_change_its_thresholds(name: str) -> None:
    kind = load_rule(name)
    assert kind.section is not Section.OTHER
    if kind.calibration is not None:
        first = dataclasses.fields(kind.calibration)[0].name  # type: ignore[arg-type]
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(kind.calibration, first, 0)
        assert (type(kind.calibration).__doc__ or "").count("\n") > 1, "say where they come from"


NOT_THRESHOLDS = {"_MAX_LISTED", "_CHANNEL_AXIS", "_EPSILON_SECONDS"}


def test_thresholds_are_fields_of_a_calibration_not_constants() -> None:
    for file in Path(inspect.getfile(sonde.rules)).parent.rglob("*.py"):
        for statement in ast.parse(file.read_text()).body:
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(
                getattr(value, "operand", value), ast.Constant
            ):
                number = ast.literal_eval(value)  # type: ignore[arg-type]
                target = getattr(statement, "target", None) or statement.targets[0]  # type: ignore[union-attr]
                name = ast.unparse(target)
                is_number = isinstance(number, int | float) and not isinstance(number, bool)
                assert not is_number or name in NOT_THRESHOLDS, f"{file.name}: {name} = {number}"


def test_texts_are_converted_to_the_parameter_type() -> None:
    rule = build_rule(LowGPUUtilization, {"window": "50", "threshold_p5": "5", "patience": "auto"})
    assert rule == LowGPUUtilization(window=50, threshold_p5=5.0)
    loss = build_rule(LossNotDecreasing, {"collection_names": "a+b", "mode": "none"})
    assert loss.parameters["collection_names"] == ("a", "b")
    assert loss.explicit_parameters == {"collection_names", "mode"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"window": "many"}, "LowGPUUtilization.window = 'many' must be an integer, 1 or more"),
        ({"window": 0}, "LowGPUUtilization.window = 0 must be an integer, 1 or more"),
        ({"threshold_p5": 120}, "= 120 must be a number, 0 to 100"),
        ({"patience": "long"}, "must be an integer, 0 or more, or auto"),
        ({"setting": "strict"}, "must be calibrated or classic"),
        ({"treshold": 1}, "has no parameter treshold. Parameters: setting, threshold_p95"),
        ({"window": True}, "must be an integer"),
    ],
)
def test_an_invalid_value_is_an_error_with_the_allowed_values(
    parameters: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match="LowGPUUtilization") as error:
        build_rule(LowGPUUtilization, parameters)
    assert message in str(error.value)


def test_an_invalid_regular_expression_is_an_error() -> None:
    assert build_rule(DeadRelu, {"tensor_regex": "^relu"}).parameters["tensor_regex"] == "^relu"
    with pytest.raises(UsageError, match="must be a regular expression"):
        build_rule(DeadRelu, {"tensor_regex": "("})


def test_command_line_assignments_are_parsed_by_rule() -> None:
    assert parse_assignments(["StepOutlier.stddev=4", "StepOutlier.mode=train"]) == {
        "StepOutlier": {"stddev": "4", "mode": "train"}
    }
    with pytest.raises(UsageError, match="is not a parameter"):
        parse_assignments(["stddev=4"])


def test_rules_are_selected_by_name_with_parameters() -> None:
    [rule] = select_rules(["step_outlier"], parameters={"StepOutlier": {"stddev": "4"}})
    assert rule.parameters["stddev"] == 4.0
    assert {file_name(each.name()) for each in select_rules()} == set(rule_names())
    with pytest.raises(UsageError, match="No rule is named 'NoSuch'"):
        select_rules(["no_such"])
    with pytest.raises(UsageError, match="not selected"):
        select_rules(["step_outlier"], parameters={"VanishingGradient": {"threshold": "1"}})


def test_a_custom_rule_class_needs_no_decorator() -> None:
    rule = LossTooLarge(limit=3.0)
    assert (rule.limit, rule.setting, rule.explicit_parameters) == (
        3.0,
        Setting.CALIBRATED,
        frozenset({"limit"}),
    )
    assert repr(rule) == "LossTooLarge(setting=<Setting.CALIBRATED: 'calibrated'>, limit=3.0)"
    assert LossTooLarge.pages().advice == "lower it."
    with pytest.raises(AttributeError):
        rule.limit = 4.0  # type: ignore[misc]
    assert issubclass(LossTooLarge, sonde.Rule)
