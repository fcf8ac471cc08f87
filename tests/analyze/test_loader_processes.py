"""How many loader processes are advised, by value."""

from typing import Any

import pytest

from sonde.analyze.loader_processes import (
    Limit,
    Loading,
    ProcessAdvice,
    advise_processes,
    usual_step,
    usual_wait,
)
from sonde.records.loading import LoaderFacts, LoaderHost


def advised(processes: int, wait: float, cores: int = 8, **values: Any) -> ProcessAdvice:
    """Of steps of 0.1 s beside their waits."""
    answer = advise_processes(Loading(LoaderFacts(processes, cores=cores), wait, 0.1, **values))
    assert answer is not None
    return answer


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
def test_as_many_as_keep_up_and_no_more_than_there_are_cores(
    processes: int, wait: float, needed: int, number: int, limit: Limit
) -> None:
    answer = advised(processes, wait)
    assert (answer.needed, answer.advised, answer.limit) == (needed, number, limit)


def test_the_workers_of_a_node_share_its_cores() -> None:
    assert advised(0, 5.0, host=LoaderHost(workers=4)).advised == 2
    # each is kept to cores of its own
    assert advised(0, 5.0, cores=2, host=LoaderHost(workers=4, cores=8.0)).advised == 2
    assert advised(0, 5.0, cores=2, host=LoaderHost(workers=4)).advised == 1


def test_a_limit_on_processor_time_counts_like_fewer_cores() -> None:
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
def test_a_data_set_that_waits_gets_more_than_cores_only_where_one_is_free(
    host: LoaderHost, number: int, limit: Limit
) -> None:
    answer = advised(1, 5.0, cores=2, host=host, cpu_percent=20.0)
    assert (answer.advised, answer.limit) == (number, limit)
    assert ("time that the data set waits" in answer.text) is (limit is Limit.DATASET)


def test_where_there_is_no_room_the_way_out_is_another() -> None:
    free = LoaderHost(busy_percent=30.0)
    slow = advised(8, 5.0, cores=2, host=free, cpu_percent=20.0)
    assert (slow.advised, slow.limit) == (8, Limit.DATASET)
    assert "too many for 2 cores: reduce the time that the data set waits" in slow.text
    assert "there is only one core: make batches cheaper" in advised(1, 5.0, cores=1).text


def test_processes_that_were_seen_to_be_quick_are_enough() -> None:
    assert advised(2, 0.05, measured=0.6).needed == advised(2, 0.05).needed == 4
    answer = advised(2, 0.05, measured=0.06)
    assert (answer.needed, answer.advised, answer.limit) == (1, 2, Limit.NOTHING)
    assert "Its 2 loader processes prepare batches quickly enough" in answer.text
    alone = advised(1, 0.05, measured=0.06)
    assert "Its one loader process prepares batches quickly enough" in alone.text


def test_of_steps_without_time_nothing_follows() -> None:
    assert advise_processes(Loading(LoaderFacts(1), 1.0, 0.0)) is None


def test_one_wait_out_of_line_does_not_count_and_every_fourth_does() -> None:
    assert usual_wait([0.001] * 39 + [60.0]) == pytest.approx(0.001)
    assert usual_wait([0.4, 0.0, 0.0, 0.0] * 10) == pytest.approx(0.1)
    assert (usual_wait([]), usual_step([])) == (0.0, 0.0)
    assert usual_step([9.0, 0.1, 0.1]) == 0.1
