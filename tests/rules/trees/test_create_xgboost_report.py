"""CreateXgboostReport: the results of a model, without findings."""

from tests.rules.trees.boosted import boosted_job, classes, importance, trees

NAME = "CreateXgboostReport"


def test_results_features_and_trees_are_summarized() -> None:
    job = boosted_job(
        classes([[90, 10], [20, 80]], auc=0.91), importance([3.0, 1.0]), trees(6, 20, 200)
    )
    result = job.job().check(NAME)[NAME]
    assert result.episodes == ()
    assert result.summary == {
        "validation task": "binary",
        "validation rows": 200,
        "validation accuracy": 0.85,
        "validation score": 0.91,
        "feature_importance/weight": ["feature 0", "feature 1"],
        "deepest tree": 6,
    }
