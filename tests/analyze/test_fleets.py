"""Many nodes beside each other."""

import numpy as np

from sonde.analyze.fleets import on_grid, unlike_first


def test_cells_hold_the_mean_of_what_begins_in_them() -> None:
    starts = np.array([0, 10, 20, 30])
    values = np.array([[1.0, 3.0, 5.0, np.nan]])
    assert on_grid(starts, values, np.array([0, 20, 40])).tolist() == [2.0, 5.0]


def test_a_cell_inside_of_a_bucket_has_its_value() -> None:
    starts, values = np.array([0, 10]), np.array([[1.0, 3.0]])
    result = on_grid(starts, values, np.array([0, 5, 10, 15, 20, 25]))
    assert result[:4].tolist() == [1.0, 1.0, 3.0, 3.0]
    assert np.isnan(result[4])


def test_nothing_is_known_of_a_node_without_samples() -> None:
    nothing = np.empty((1, 0))
    assert np.isnan(on_grid(np.empty(0, np.int64), nothing, np.array([0, 5, 10]))).all()


def test_those_that_differ_come_first_and_those_of_which_nothing_is_known_last() -> None:
    values = np.array([[50.0, 50.0], [50.0, 51.0], [10.0, 90.0], [np.nan, np.nan]])
    assert unlike_first(values).tolist() == [2, 0, 1, 3]
