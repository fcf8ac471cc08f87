"""TreeDepth: planted faults and their healthy twins."""

from sonde.records.finding import Evaluation, RuleStatus, Setting, Severity
from tests.fakes.job import FakeJob
from tests.rules.trees.boosted import boosted_job, trees


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("TreeDepth", **parameters)["TreeDepth"]


def test_deep_trees_that_fit_single_rows_are_reported() -> None:
    [episode] = check(boosted_job(trees(12, 200, 600))).episodes
    assert episode.finding.message.endswith(
        "has depth 12 and 200 leaves for 600 rows: 3.0 rows per leaf."
    )
    assert episode.finding.severity is Severity.INFO


def test_deep_trees_of_large_data_are_not_reported() -> None:
    result = check(boosted_job(trees(12, 200, 60_000)))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_flat_trees_of_small_data_are_not_reported() -> None:
    assert check(boosted_job(trees(3, 8, 40))).episodes == ()


def test_a_depth_that_is_set_applies_to_any_data() -> None:
    job = boosted_job(trees(6, 60, 60_000))
    [episode] = check(job, depth=5).episodes
    assert episode.finding.severity is Severity.WARNING
    assert check(job, depth=6).episodes == ()


def test_the_classic_setting_reports_the_default_depth_of_xgboost() -> None:
    result = check(boosted_job(trees(6, 60, 60_000)), setting=Setting.CLASSIC)
    assert result.episodes[0].first_step == 0
