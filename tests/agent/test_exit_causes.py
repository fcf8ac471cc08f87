"""The cause of a failure, from the failures that processes recorded."""

import pytest

from sonde.agent.exit_causes import find_cause
from sonde.records.job import ExitReason
from sonde.records.worker import Failure
from sonde.store.backends import Backend, open_backend
from sonde.store.facts import encode_facts
from sonde.store.layout import attempt_key, worker_key

COMMAND_PID = 10
ATTEMPT = ("node-a", 2)


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Backend:
    return open_backend(f"memory://{request.node.nodeid}/job")


def record_failure(backend: Backend, key: str, message: str, time_ns: int, rank: int = -1) -> None:
    failure = Failure(rank, time_ns, ExitReason.EXCEPTION, message, "")
    backend.write(key, encode_facts(failure))


def by_process(pid: int, parent: int = 1) -> str:
    return attempt_key(*ATTEMPT, f"failure-{parent}-{pid}")


def cause(backend: Backend) -> str | None:
    result = find_cause(backend, ATTEMPT, COMMAND_PID)
    return result.message if result else None


def test_no_recorded_failure_means_no_cause(backend: Backend) -> None:
    assert cause(backend) is None


def test_first_failed_worker_is_the_cause(backend: Backend) -> None:
    record_failure(backend, worker_key(0, 2, 0, "failure"), "a later failure", 200, rank=0)
    record_failure(backend, worker_key(1, 2, 0, "failure"), "the cause", 100, rank=1)
    assert cause(backend) == "the cause"


def test_failures_of_earlier_restarts_and_attempts_are_ignored(backend: Backend) -> None:
    record_failure(backend, worker_key(0, 1, 0, "failure"), "before the resume", 1, rank=0)
    record_failure(backend, worker_key(0, 2, 0, "failure"), "before the restart", 2, rank=0)
    record_failure(backend, worker_key(0, 2, 1, "failure"), "the cause", 3, rank=0)
    assert cause(backend) == "the cause"


def test_last_restart_is_not_explained_by_an_earlier_failure(backend: Backend) -> None:
    record_failure(backend, worker_key(0, 2, 0, "failure"), "before the restart", 2, rank=0)
    backend.write(worker_key(0, 2, 1, "start"), b"{}")
    assert cause(backend) is None


def test_failed_helper_is_not_the_cause(backend: Backend) -> None:
    record_failure(backend, by_process(11, parent=COMMAND_PID), "a probe", 100)
    record_failure(backend, by_process(COMMAND_PID), "the cause", 200)
    assert cause(backend) == "the cause"


def test_failure_of_a_worker_takes_precedence_over_a_helper(backend: Backend) -> None:
    record_failure(backend, by_process(11), "a probe", 300)
    record_failure(backend, worker_key(1, 2, 0, "failure"), "the cause", 100, rank=1)
    assert cause(backend) == "the cause"


def test_last_failed_process_of_a_shell_is_the_cause(backend: Backend) -> None:
    record_failure(backend, by_process(11), "a probe", 100)
    record_failure(backend, by_process(12), "the cause", 200)
    assert cause(backend) == "the cause"


def test_first_failed_child_is_the_cause_of_a_parent_that_reports_children(
    backend: Backend,
) -> None:
    record_failure(backend, attempt_key(*ATTEMPT, "handed-on-20"), "a child failed", 400)
    record_failure(backend, by_process(21, parent=20), "the cause", 200)
    record_failure(backend, by_process(22, parent=20), "the second", 250)
    record_failure(backend, by_process(23, parent=99), "another process", 300)
    assert cause(backend) == "the cause"


def test_reported_failure_of_a_child_is_used_as_a_fallback(backend: Backend) -> None:
    record_failure(backend, attempt_key(*ATTEMPT, "handed-on-20"), "worker 1 exited", 400, rank=1)
    assert cause(backend) == "worker 1 exited"


def test_damaged_failure_file_is_skipped(backend: Backend) -> None:
    backend.write(by_process(COMMAND_PID), b"{")
    record_failure(backend, by_process(12), "the cause", 200)
    assert cause(backend) == "the cause"
