"""The table of predicted and measured speed-ups."""

from typing import Any

from benchmarks.advice_cases import CASES
from benchmarks.advice_h200 import Result, rows_of
from benchmarks.report import Row

BATCH = next(case for case in CASES if case.name == "gpt small batch")


def item(rule: str, title: str, speedup: float) -> dict[str, Any]:
    return {"rule": rule, "remedies": [{"title": title, "gain": {"speedup": speedup}}]}


def bars(*results: Result) -> dict[str, Row]:
    return {row.what: row for row in rows_of(results) if row.bar}


def test_the_number_of_a_remedy_sets_what_it_names() -> None:
    assert BATCH.with_remedy("a batch 4 times as large") == {"batch": 32}
    checkpoints = next(case for case in CASES if case.name == "gpt checkpoints")
    assert checkpoints.with_remedy("saving 1/20 as often") == {"checkpoint_every": 200}
    evaluation = next(case for case in CASES if case.name == "unet evaluation")
    title = "evaluating every 1,200 steps instead of every 10"
    assert evaluation.with_remedy(title) == {"evaluate_every": 1200}


def test_predictions_are_compared_with_what_remedies_bring() -> None:
    items = [item("LaunchBound", "a batch 4 times as large", 3.0)]
    measured = bars(Result(BATCH.name, 100.0, 290.0, items), Result("gpt tuned", 100.0))
    assert all(row.is_met for row in measured.values())
    assert round(measured["worst prediction"].measured, 2) == 1.03


def test_a_wrong_first_finding_and_a_slower_remedy_miss_their_bars() -> None:
    items = [item("DoublePrecision", "a batch 4 times as large", 3.0)]
    tuned = Result("gpt tuned", 100.0, items=items)
    measured = bars(Result(BATCH.name, 100.0, 90.0, items), tuned)
    assert not any(row.is_met for row in measured.values())
