"""Estimated phases of untimed steps."""

import numpy as np

from sonde.read.untimed_steps import nearest_timed, with_estimates


def phases(**named: list[int]) -> dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return {name: np.array(values, dtype=np.int64) for name, values in named.items()}


def test_untimed_steps_are_divided_like_the_timed_step_before_them() -> None:
    measured = phases(forward=[30, 0, 0], backward=[60, 0, 0], between=[10, 200, 50])

    estimated = with_estimates(measured, np.array([True, False, False]))

    assert estimated["forward"].tolist() == [30, 60, 15]
    assert estimated["backward"].tolist() == [60, 120, 30]
    assert estimated["between"].tolist() == [10, 20, 5]


def test_estimated_phases_add_up_to_the_step() -> None:
    measured = phases(forward=[7, 0, 0, 9], data_wait=[1, 0, 50, 2], between=[5, 101, 60, 3])

    estimated = with_estimates(measured, np.array([True, False, False, True]))

    assert np.sum(list(estimated.values()), axis=0).tolist() == [13, 101, 110, 14]


def test_no_estimate_is_added_to_a_recorded_wait() -> None:
    measured = phases(data_wait=[50, 400], forward=[50, 0], between=[0, 100])

    estimated = with_estimates(measured, np.array([True, False]))

    assert estimated["data_wait"].tolist() == [50, 400]
    assert estimated["forward"].tolist() == [50, 100]


def test_steps_before_the_first_timed_step_are_divided_like_it() -> None:
    assert nearest_timed(np.array([False, False, True, False, True])).tolist() == [2, 2, 2, 2, 4]


def test_nothing_is_estimated_without_timed_steps() -> None:
    measured = phases(forward=[0, 0], between=[10, 20])

    assert with_estimates(measured, np.array([False, False])) == measured


def test_an_evaluation_in_a_timed_step_is_not_estimated_for_later_steps() -> None:
    measured = phases(forward=[30, 0], evaluation=[500, 0], checkpoint=[70, 0], between=[10, 80])

    estimated = with_estimates(measured, np.array([True, False]))

    assert estimated["evaluation"].tolist() == [500, 0]
    assert estimated["checkpoint"].tolist() == [70, 0]
    assert estimated["forward"].tolist() == [30, 60]
    assert estimated["between"].tolist() == [10, 20]
