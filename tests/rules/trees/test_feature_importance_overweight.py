"""FeatureImportanceOverweight: planted faults and their healthy twins."""

from sonde.records.finding import Evaluation, RuleStatus, Setting, Severity
from tests.fakes.job import FakeJob
from tests.rules.trees.boosted import boosted_job, importance

NAME = "FeatureImportanceOverweight"
EVEN = [3.0, 2.5, 2.0, *[1.5] * 13]
HEAVY = [60.0, 20.0, 10.0, *[0.5] * 13]


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check(NAME, **parameters)[NAME]


def test_three_features_with_most_of_the_importance_are_named() -> None:
    [episode] = check(boosted_job(importance(HEAVY))).episodes
    finding = episode.finding
    assert finding.message.startswith("feature 0, feature 1, feature 2 hold 93% of")
    assert finding.severity is Severity.INFO
    assert episode.first_step == 27


def test_even_importance_is_not_reported() -> None:
    result = check(boosted_job(importance(EVEN)))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_data_with_few_features_is_not_judged() -> None:
    result = check(boosted_job(importance([60.0, 20.0, 1.0, 1.0])))
    assert result.episodes == ()
    assert result.status is RuleStatus.NOT_APPLICABLE


def test_the_first_rounds_do_not_count() -> None:
    result = check(boosted_job(importance(HEAVY), rounds=10))
    assert (result.status, result.episodes) == (RuleStatus.NOT_ENOUGH_DATA, ())


def test_explicit_parameters_and_other_kinds_apply() -> None:
    gain = boosted_job(importance(HEAVY, "feature_importance/gain"))
    assert check(gain).episodes == ()
    assert check(gain, tensor_regex="gain").episodes
    assert check(boosted_job(importance(HEAVY)), threshold=0.95).episodes == ()
    assert check(boosted_job(importance(EVEN)), nfeatures=4, threshold=0.3).episodes


def test_the_classic_setting_judges_every_inspection() -> None:
    result = check(boosted_job(importance([9.0, 1.0])), setting=Setting.CLASSIC)
    assert result.episodes[0].first_step == 0
