"""The recommended number of loader processes."""

from typing import Any

import pytest

from sonde.analyze.loader_processes import (
    Limit,
    Loading,
    ProcessAdvice,
    advise_processes,
    typical_step,
    typical_wait,
)
from sonde.records.loading import LoaderFacts, LoaderHost


def advised(processes: int, wait: float, cores: int = 8, **values: Any) -> ProcessAdvice:
    """Return the advice for steps that take 0.1 s without waits."""
    advice = advise_processes(Loading(LoaderFacts(processes, cores=cores), wait, 0.1, **values))
    assert advice is not None
    return advice


@pytest.mark.parametrize(
    ("processes", "wait", "needed", "number", "limit"),
    [
        (0, 0.05, 1, 1, Limit.NOTHING),
        (0, 0.20, 3, 3, Limit.NOTHING),
        (0, 5.00, 55, 8, Limit.CORES),
        (1, 0.10, 3, 3, Limit.NOTHING),
        (4, 0.10, 9, 8, Limit.CORES),
        (8, 0.10, 18, 8, Limit.CORES),
        (2, 0.00, 2, 2, Limit.NOTHING),  # keeps up
        (0, 0.01, 0, 0, Limit.NOTHING),
        (20, 0.10, 44, 8, Limit.CORES),  # too many
    ],
)
def test_the_number_that_keeps_up_is_limited_by_the_cores(
    processes: int, wait: float, needed: int, number: int, limit: Limit
) -> None:
    advice = advised(processes, wait)
    assert (advice.needed, advice.advised, advice.limit) == (needed, number, limit)


def test_the_workers_of_a_node_share_its_cores() -> None:
    assert advised(0, 5.0, host=LoaderHost(workers=4)).advised == 2
    # each worker is limited to its own cores
    assert advised(0, 5.0, cores=2, host=LoaderHost(workers=4, cores=8.0)).advised == 2
    assert advised(0, 5.0, cores=2, host=LoaderHost(workers=4)).advised == 1


def test_a_limit_on_cpu_time_counts_like_fewer_cores() -> None:
    assert advised(0, 5.0, cores=64, host=LoaderHost(cores=2.5)).advised == 2
    assert advised(0, 5.0, cores=64, host=LoaderHost(cores=0.5)).advised == 1


@pytest.mark.parametrize(
    ("host", "number", "limit"),
    [
        (LoaderHost(busy_percent=30.0), 8, Limit.DATASET),
        (LoaderHost(busy_percent=90.0), 2, Limit.CORES),
        (LoaderHost(cores=2.0, busy_percent=5.0, job_percent=195.0), 2, Limit.CORES),
        (LoaderHost(cores=2.0, busy_percent=5.0, job_percent=60.0), 8, Limit.DATASET),
        (LoaderHost(), 2, Limit.CORES),
    ],
)
def test_a_waiting_data_set_gets_more_processes_than_cores_if_a_core_is_free(
    host: LoaderHost, number: int, limit: Limit
) -> None:
    advice = advised(1, 5.0, cores=2, host=host, cpu_percent=20.0)
    assert (advice.advised, advice.limit) == (number, limit)
    assert ("time that the data set waits" in advice.text) is (limit is Limit.DATASET)


def test_advice_without_room_for_more_processes_recommends_another_solution() -> None:
    free = LoaderHost(busy_percent=30.0)
    slow = advised(8, 5.0, cores=2, host=free, cpu_percent=20.0)
    assert (slow.advised, slow.limit) == (8, Limit.DATASET)
    assert "too many for 2 cores: reduce the time that the data set waits" in slow.text
    assert "there is only one core: make batches cheaper" in advised(1, 5.0, cores=1).text


def test_no_more_processes_are_recommended_if_measured_batches_are_fast() -> None:
    assert advised(2, 0.05, measured=0.6).needed == advised(2, 0.05).needed == 4
    advice = advised(2, 0.05, measured=0.06)
    assert (advice.needed, advice.advised, advice.limit) == (1, 2, Limit.NOTHING)
    assert "Its 2 loader processes prepare batches quickly enough" in advice.text
    alone = advised(1, 0.05, measured=0.06)
    assert "Its one loader process prepares batches quickly enough" in alone.text


def test_steps_without_duration_get_no_advice() -> None:
    assert advise_processes(Loading(LoaderFacts(1), 1.0, 0.0)) is None


def test_a_single_long_wait_does_not_count_but_every_fourth_one_does() -> None:
    assert typical_wait([0.001] * 39 + [60.0]) == pytest.approx(0.001)
    assert typical_wait([0.4, 0.0, 0.0, 0.0] * 10) == pytest.approx(0.1)
    assert (typical_wait([]), typical_step([])) == (0.0, 0.0)
    assert typical_step([9.0, 0.1, 0.1]) == 0.1
