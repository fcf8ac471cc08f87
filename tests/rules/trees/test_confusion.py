"""Confusion: planted faults and their healthy twins."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Setting, Severity
from tests.fakes.job import FakeJob
from tests.rules.trees.boosted import boosted_job, classes, importance

GOOD = [[95, 5], [4, 96]]
SWAPPED = [[95, 5, 0], [70, 20, 10], [2, 3, 95]]


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("Confusion", **parameters)["Confusion"]


def test_a_class_that_is_mostly_predicted_as_another_is_reported() -> None:
    [episode] = check(boosted_job(classes(SWAPPED))).episodes
    finding = episode.finding
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "20% of 100 rows of class 1 in validation are predicted correctly, 70% as class 0."
    )


@pytest.mark.parametrize("matrix", [GOOD, [[17, 3], [0, 300]], [[2, 3], [0, 300]]])
def test_good_predictions_and_small_classes_are_not_reported(matrix: list[list[int]]) -> None:
    result = check(boosted_job(classes(matrix)))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_class_that_is_often_right_is_only_info() -> None:
    [episode] = check(boosted_job(classes([[70, 30], [5, 95]]))).episodes
    assert episode.finding.severity is Severity.INFO


def test_data_that_is_not_trained_on_decides() -> None:
    job = boosted_job(classes(SWAPPED, "train"), classes(GOOD))
    assert check(job).episodes == ()
    job = boosted_job(classes(GOOD, "train"), classes(SWAPPED))
    assert len(check(job).episodes) == 1


def test_explicit_parameters_apply() -> None:
    job = boosted_job(classes(SWAPPED))
    assert check(job, min_diag=0.1, max_off_diag=0.9).episodes == ()
    assert check(job, category_no=1).episodes == ()
    assert check(job, labels="other").status is RuleStatus.NOT_ENOUGH_DATA


def test_the_classic_setting_judges_every_inspection_to_the_letter() -> None:
    result = check(boosted_job(classes([[17, 3], [0, 300]])), setting=Setting.CLASSIC)
    assert result.episodes[0].first_step == 0


def test_jobs_without_trees_are_not_applicable() -> None:
    job = boosted_job(importance([1.0, 2.0]))
    assert check(job).status is RuleStatus.NOT_APPLICABLE


def test_a_collection_selects_the_data_sets_whose_labels_it_holds() -> None:
    job = boosted_job(classes(SWAPPED))
    assert check(job, labels_collection="all").episodes
    assert check(job, labels_collection="my_labels").episodes == ()
