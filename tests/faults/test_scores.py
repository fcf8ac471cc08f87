"""How the outcomes of runs are counted."""

from dataclasses import replace

import pytest

from tests.faults.judging import Alarm, Outcome
from tests.faults.label import Label, NamedSet
from tests.faults.program import Program, Variant
from tests.faults.scores import Scores, alarm_table, confusion_table, fault_table, score_rows

LABEL = Label(
    NamedSet.CALIBRATION,
    "LossSpike",
    culprit="step 40",
    first_step=40,
    max_delay_steps=2,
    side_effects=("GradientNormSpike",),
)
PROGRAM = Program("spiky", "loss_spike", LABEL)
SPIKE = Alarm("LossSpike", "warning", "It jumps at step 40.", "It jumps at step 40.", 41)


def outcome(*alarms: Alarm, variant: Variant = Variant.FAULTY) -> Outcome:
    return Outcome(PROGRAM, variant, 0, alarms, {}, (), 9.0, training_seconds=5.0)


def test_the_expected_alarm_detects_the_fault_names_the_culprit_and_gives_the_delay() -> None:
    run = outcome(SPIKE)
    assert (run.is_detected, run.is_rule_right, run.is_named) == (True, True, True)
    assert run.delay == 1
    assert Scores([run]).late == []


def test_an_alarm_before_the_fault_does_not_count() -> None:
    run = outcome(replace(SPIKE, reported_at=39))
    assert not run.is_detected
    assert run.delay is None
    assert Scores([run]).late == [run]


def test_an_alarm_of_another_rule_detects_the_fault_without_being_right() -> None:
    overfit = replace(SPIKE, rule="Overfit")
    run = outcome(overfit)
    assert run.is_detected
    assert not run.is_rule_right
    assert run.unrelated == (overfit,)
    assert outcome(replace(SPIKE, rule="GradientNormSpike")).unrelated == ()


def test_advice_counts_only_from_the_expected_rule() -> None:
    assert not outcome(replace(SPIKE, rule="Overfit", severity="info")).is_detected
    assert outcome(replace(SPIKE, severity="info")).is_detected


def test_the_expected_rule_may_miss_the_culprit() -> None:
    run = outcome(replace(SPIKE, subject="somewhere"))
    assert run.is_rule_right
    assert not run.is_named


@pytest.mark.parametrize(("severity", "alarmed", "stopped"), [("info", 0, 0), ("warning", 100, 0)])
def test_alarms_in_healthy_runs_are_counted_by_severity(
    severity: str, alarmed: float, stopped: float
) -> None:
    loud = outcome(replace(SPIKE, severity=severity), variant=Variant.HEALTHY)
    rows = {row.what.partition(": ")[2]: row.measured for row in Scores([loud]).rows("some")}
    assert rows["healthy with an alarm"] == alarmed
    assert rows["healthy, but a stop action would stop it"] == stopped


def test_the_tables_name_programs_rules_and_counts() -> None:
    runs = [
        outcome(SPIKE),
        outcome(),
        outcome(replace(SPIKE, severity="critical"), variant=Variant.HEALTHY),
    ]
    assert "spiky  calibration  LossSpike  1/2       1/2   1/2      1" in fault_table(runs)
    assert "critical" in alarm_table(runs)
    assert "LossSpike [1] 1" in confusion_table(runs)
    assert [row.is_met for row in score_rows(runs) if "stop" in row.what] == [False, False]


def test_runs_with_under_two_seconds_of_training_are_also_counted_apart() -> None:
    short = replace(outcome(), training_seconds=1.5)
    rows = {row.what: row.measured for row in score_rows([outcome(SPIKE), short])}
    assert rows["calibration: detected"] == 50
    assert rows["calibration, under 2 s of training: detected"] == 0
