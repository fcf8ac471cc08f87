"""Lines of output with their steps."""

import pytest

from sonde.errors import UsageError
from sonde.read.logs import LogQuestion, parse_pattern, read_logs
from sonde.read.open_job import OpenJob
from sonde.records.log_line import OMITTED
from tests.fakes.job import FakeJob


def opened_job() -> OpenJob:
    job = FakeJob()
    first, second = job.worker(0), job.worker(1)
    for step in range(4):
        first.step(step, {"forward": 1.0}).line(f"loss {step}", min(step, 1))
        second.line(f"password={step}xyz", step, "stderr")
    first.line("7", 3, OMITTED).flush()
    second.flush()
    job.clock.advance(1)
    return OpenJob(job.backend, job.clock)


def test_lines_of_all_workers_are_sorted_by_time_with_the_step_that_had_ended() -> None:
    page = read_logs(opened_job().workers(), LogQuestion(), 100)
    lines = [(line.worker, line.step, line.stream) for line in page.lines]
    assert lines[:3] == [(0, 0, "stdout"), (1, 0, "stderr"), (0, 1, "stdout")]
    assert (0, 3, "stdout") in lines  # recorded as step 1, while the hooks rested
    assert (page.total, OMITTED in [stream for _, _, stream in lines]) == (9, True)


def test_a_search_ignores_case_and_returns_the_last_lines() -> None:
    question = LogQuestion(parse_pattern("LOSS [0-2]"))
    page = read_logs(opened_job().workers(), question, 2)
    assert ([line.text for line in page.lines], page.total) == (["loss 1", "loss 2"], 3)
    errors = read_logs(opened_job().workers(1), LogQuestion(stream="stderr"), 100)
    assert errors.total == 4


def test_an_invalid_pattern_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        parse_pattern("(")
