"""Jobs that the training process stopped itself."""

from pathlib import Path

import pytest

from sonde.records.action import ActionStatus
from sonde.records.request import RequestKind
from sonde.store.control import FROM_WORKER, read_requests, send_request
from tests.engine.test_dispatch import act, log_of, now, open_dispatch, recording_action
from tests.fakes.job import FakeJob
from tests.fakes.occasions import action as build


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize("is_stop_first", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [
        {"by": "A: non-finite gradients"},
        {"by": "stop_on_non_finite: non-finite gradients", FROM_WORKER: "0"},
    ],
)
def test_a_stop_by_the_training_process_counts_as_the_stop_of_its_rule(
    tmp_path: Path, is_over: bool, is_stop_first: bool, arguments: dict[str, str]
) -> None:
    job, tell = FakeJob(), recording_action()
    stop = build(tmp_path, 'kind = "stop"', name="stop")
    dispatch = open_dispatch(job, *((stop, tell) if is_stop_first else (tell, stop)))
    send_request(job.backend, job.clock, RequestKind.STOP, arguments)
    if is_over:
        job.end()
    act(dispatch, now(job))

    entries = {item.action: item for item in log_of(job)}
    assert entries["stop"].status is ActionStatus.DONE
    assert entries["stop"].message == "the training process stopped the job"
    assert tell.episodes == ["A:///:1"]
    stops = read_requests(job.backend, RequestKind.STOP, 0)
    assert [item.arguments for item in stops] == [arguments]
