"""How the programs are labelled and counted."""

import ast
from collections import Counter
from dataclasses import replace

import pytest

from sonde.rules import load_rule, rule_names
from tests.faults.catalogue import PROGRAMS
from tests.faults.judging import Alarm, Outcome
from tests.faults.program import FOLDER, Fault, Part, Program, Variant
from tests.faults.scores import Scores, alarm_table, confusion_table, fault_table, score_rows

FAULT = Fault("LossSpike", "step 40", step=40, within=2, also=("GradientNormSpike",))
PROGRAM = Program("spiky", Part.CALIBRATION, FAULT)
SPIKE = Alarm("LossSpike", "warning", "It jumps at step 40.", "It jumps at step 40.", 41)


def outcome(*alarms: Alarm, variant: Variant = Variant.FAULTY) -> Outcome:
    return Outcome(PROGRAM, variant, 0, alarms, {}, (), 9.0, training_seconds=5.0)


def test_every_program_is_labelled_once_and_every_label_has_its_program() -> None:
    files = [
        path.stem for name in ("programs", "negatives") for path in (FOLDER / name).glob("*.py")
    ]
    assert sorted(files) == sorted(one.name for one in PROGRAMS)


def test_there_are_enough_programs_in_both_parts() -> None:
    faults = Counter(one.part for one in PROGRAMS if one.fault)
    negatives = Counter(one.part for one in PROGRAMS if not one.fault)
    assert min(faults.values()) >= 20
    assert min(negatives.values()) >= 8


def test_programs_call_nothing_of_ours() -> None:
    for program in PROGRAMS:
        tree = ast.parse(program.path.read_text())
        names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
        assert "sonde" not in program.path.read_text(), program.name
        assert names.isdisjoint({"exec", "eval"}), program.name


def test_labels_name_rules_that_exist() -> None:
    known = {load_rule(name).name() for name in rule_names()}
    for program in PROGRAMS:
        if program.fault:
            named = {program.fault.rule, *program.fault.instead, *program.fault.also}
            assert named <= known, program.name


def test_a_fault_is_detected_named_and_timed() -> None:
    seen = outcome(SPIKE)
    assert (seen.is_detected, seen.is_rule_right, seen.is_named, seen.delay) == (
        True,
        True,
        True,
        1,
    )
    assert Scores([seen]).late == []


def test_an_alarm_before_the_fault_says_nothing_about_it() -> None:
    seen = outcome(replace(SPIKE, said_at=39))
    assert not seen.is_detected
    assert seen.delay is None
    assert Scores([seen]).late == [seen]


def test_another_rule_detects_without_being_right() -> None:
    other = replace(SPIKE, rule="Overfit")
    seen = outcome(other)
    assert seen.is_detected
    assert not seen.is_rule_right
    assert seen.beside == (other,)
    assert outcome(replace(SPIKE, rule="GradientNormSpike")).beside == ()


def test_advice_alone_is_no_detection_unless_it_is_the_right_one() -> None:
    assert not outcome(replace(SPIKE, rule="Overfit", severity="info")).is_detected
    assert outcome(replace(SPIKE, severity="info")).is_detected


def test_the_right_rule_may_miss_the_culprit() -> None:
    seen = outcome(replace(SPIKE, about="somewhere"))
    assert seen.is_rule_right
    assert not seen.is_named


@pytest.mark.parametrize(("severity", "alarmed", "stopped"), [("info", 0, 0), ("warning", 100, 0)])
def test_healthy_runs_count_what_was_said_of_them(
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
    assert "spiky  calibration  LossSpike  1/2   1/2   1/2      1" in fault_table(runs)
    assert "critical" in alarm_table(runs)
    assert "LossSpike [1] 1" in confusion_table(runs)
    assert [row.is_met for row in score_rows(runs) if "stop" in row.what] == [False, False]


def test_runs_with_under_two_seconds_of_training_are_also_counted_apart() -> None:
    short = replace(outcome(), training_seconds=1.5)
    rows = {row.what: row.measured for row in score_rows([outcome(SPIKE), short])}
    assert rows["calibration: detected"] == 50
    assert rows["calibration, under 2 s of training: detected"] == 0
