"""How many rules could judge a job, and the sentence that says so."""

import pytest

from sonde.records.finding import RuleStatus
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.results.rule_coverage import Coverage, RuleResult, coverage, no_issues

DECIDED = RuleStatus.NO_ISSUES_FOUND
LACKING = RuleStatus.NOT_ENOUGH_DATA
UNFIT = RuleStatus.NOT_APPLICABLE
GOING = RuleStatus.IN_PROGRESS


def lacking(rule: str, shortfall: Shortfall) -> RuleResult:
    return RuleResult(rule, LACKING, 5, str(shortfall), shortfall=shortfall)


def counted(*results: RuleResult, is_training: bool = True, is_inside: bool = True) -> Coverage:
    return coverage(results, is_training=is_training, is_inside=is_inside)


def test_no_issues_is_reported_only_if_every_applicable_rule_had_enough_data() -> None:
    decided = RuleResult("A", DECIDED, 10)
    no_gpu = RuleResult("IdleGPU", UNFIT, 0, "no samples of gpu recorded", ("Metric",))
    assert no_issues(counted(decided, no_gpu)) == "No issues found."
    short = lacking("B", Shortfall(20, 150, DataUnit.STEPS))
    result = counted(decided, no_gpu, short)
    assert (result.applicable, result.lacking) == (2, 1)
    assert no_issues(result) == (
        "No issues found so far; 1 of 2 rules did not have enough data: "
        "B needs 150 steps (20 recorded)."
    )


def test_reasons_are_grouped_by_missing_data_most_common_first() -> None:
    results = [
        lacking("A", Shortfall(20, 150, DataUnit.STEPS)),
        lacking("B", Shortfall(20, 5000, DataUnit.STEPS)),
        lacking("C", Shortfall(0, 1, DataUnit.EVALUATIONS)),
        RuleResult("D", LACKING, 5, "something of its own"),
    ]
    assert counted(*results).reasons == (
        "2 need up to 5,000 steps (20 recorded)",
        "C needs 1 evaluation (0 recorded)",
        "D: something of its own",
    )


def test_the_reason_of_a_group_has_the_highest_counts() -> None:
    results = [
        lacking("A", Shortfall(38, 150, DataUnit.STEPS)),
        lacking("B", Shortfall(40, 5000, DataUnit.STEPS)),
        lacking("C", Shortfall(28, 60, DataUnit.SETTLED_STEPS)),
    ]
    assert counted(*results).reasons == (
        "2 need up to 5,000 steps (up to 40 recorded)",
        "C needs 60 steps after the first 10 (28 recorded)",
    )


def test_rules_without_losses_or_steps_lack_data_if_the_job_trains() -> None:
    blind = RuleResult("LossSpike", UNFIT, 0, "no loss recorded", ("Losses",))
    no_embedding = RuleResult("NLPSequenceRatio", UNFIT, 0, "none recorded", ("Observations",))
    assert counted(blind, no_embedding).lacking == 1
    assert counted(blind, no_embedding, is_inside=False).lacking == 2
    assert counted(blind, no_embedding, is_training=False, is_inside=False).applicable == 0


@pytest.mark.parametrize(
    ("waiting", "text"),
    [
        (0, "No issues found so far."),
        (1, "No issues found so far (1 rule still collecting data)."),
        (2, "No issues found so far (2 rules still collecting data)."),
    ],
)
def test_running_job_counts_rules_that_collect_data(waiting: int, text: str) -> None:
    going = RuleResult("A", GOING, 10)
    rest = (RuleResult("B", GOING, 0), lacking("C", Shortfall(1, 2, DataUnit.STEPS)))
    assert no_issues(counted(going, *rest[:waiting])) == text
