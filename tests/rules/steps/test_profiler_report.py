"""ProfilerReport: selects all profiling rules and reports totals."""

import numpy as np
import pytest

from sonde.errors import UsageError
from sonde.records.finding import RuleStatus, Setting
from sonde.rules import Rule, load_rule
from sonde.rules._selection import select_rules
from sonde.rules.steps.profiler_report import ProfilerReport
from sonde.settings import RuleSettings, RulesSettings
from tests.fakes.training import with_machine


def chosen(*names: str, **overrides: object) -> dict[str, Rule]:
    parameters = {"ProfilerReport": overrides} if overrides else None
    return {rule.name(): rule for rule in select_rules(names, parameters=parameters)}


def test_selecting_it_selects_all_profiling_rules() -> None:
    assert set(chosen("ProfilerReport")) == {"ProfilerReport", *ProfilerReport.covers}
    assert {load_rule(name).name() for name in ProfilerReport.covers} == set(ProfilerReport.covers)


def test_it_sets_parameters_of_covered_rules() -> None:
    rules = chosen("profiler_report", cpubottleneck_threshold="80", StepOutlier_stddev=5)
    assert rules["CPUBottleneck"].parameters["threshold"] == 80.0
    assert rules["StepOutlier"].parameters["stddev"] == 5.0
    assert rules["StepOutlier"].explicit_parameters == {"stddev"}
    assert rules["IOBottleneck"].parameters["threshold"] == 50.0


def test_its_setting_applies_to_covered_rules() -> None:
    rules = chosen("ProfilerReport", setting="classic")
    assert {rule.setting for rule in rules.values()} == {Setting.CLASSIC}


def test_parameters_of_the_covered_rule_take_precedence() -> None:
    reported = RulesSettings(
        rules=(
            RuleSettings("ProfilerReport", parameters={"StepOutlier_stddev": 5}),
            RuleSettings("StepOutlier", parameters={"stddev": 7}),
        )
    )
    rules = {rule.name(): rule for rule in select_rules((), reported)}
    assert rules["StepOutlier"].parameters["stddev"] == 7.0
    [rule] = select_rules(["StepOutlier"], RulesSettings(rules=reported.rules[:1]))
    assert rule.parameters["stddev"] == 5.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"StepOutlier_nonsense": 5}, "StepOutlier has no parameter"),
        ({"StepOutlier_stddev": -1}, "must be a number, 0 or more"),
        ({"VanishingGradient_threshold": 1}, "ProfilerReport has no parameter"),
    ],
)
def test_an_invalid_parameter_is_an_error(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chosen("ProfilerReport", **parameters)


def test_totals_of_the_job_are_reported() -> None:
    curves = {
        "cpu.utilization_percent": np.full(300, 40.0),
        "cpu.utilization_percent/cpu0": np.full(300, 99.0),
        "gpu.utilization_percent/gpu0": np.tile([80.0, 60.0], 150),
    }
    evaluations = with_machine(curves, (0, 300)).job().check("ProfilerReport")
    report = evaluations["ProfilerReport"]
    assert (report.status, report.triggered) == (RuleStatus.NO_ISSUES_FOUND, 0)
    assert report.summary["training steps"] == 300
    assert report.summary["mean gpu.utilization_percent"] == pytest.approx(70.0)
    assert report.summary["mean cpu.utilization_percent"] == pytest.approx(40.0)
    lengths = report.summary["step seconds (p50, p95, longest)"]
    assert lengths == pytest.approx([0.5] * 3, rel=0.02)
    assert evaluations["CPUBottleneck"].status is RuleStatus.NO_ISSUES_FOUND
