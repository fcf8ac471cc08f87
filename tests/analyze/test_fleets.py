"""Comparison of nodes on a time grid."""

import numpy as np

from sonde.analyze.fleets import on_grid, order_by_deviation


def test_cells_have_the_mean_of_the_buckets_that_start_in_them() -> None:
    starts = np.array([0, 10, 20, 30])
    values = np.array([[1.0, 3.0, 5.0, np.nan]])
    assert on_grid(starts, values, np.array([0, 20, 40])).tolist() == [2.0, 5.0]


def test_a_cell_inside_a_bucket_has_its_value() -> None:
    starts, values = np.array([0, 10]), np.array([[1.0, 3.0]])
    result = on_grid(starts, values, np.array([0, 5, 10, 15, 20, 25]))
    assert result[:4].tolist() == [1.0, 1.0, 3.0, 3.0]
    assert np.isnan(result[4])


def test_cells_of_a_node_without_samples_are_nan() -> None:
    values = np.empty((1, 0))
    assert np.isnan(on_grid(np.empty(0, np.int64), values, np.array([0, 5, 10]))).all()


def test_nodes_far_from_the_median_come_first_and_nodes_without_values_last() -> None:
    values = np.array([[50.0, 50.0], [50.0, 51.0], [10.0, 90.0], [np.nan, np.nan]])
    assert order_by_deviation(values).tolist() == [2, 0, 1, 3]
