"""Damage to operations decoded after the end of an attempt is reported."""

import pytest

from sonde.agent.trace_decoding import decode_waiting
from sonde.store.format import OPERATIONS
from sonde.store.layout import profile_key
from sonde.store.owned import describe, is_ours
from sonde.store.seal import FamilyFolder, seal_folder
from tests.agent.test_trace_decoding import leave_trace, operator
from tests.fakes.job import FakeJob
from tests.read.test_damage import damage_of, key_of, recorded


def decoded_after_the_end(traces: int = 1) -> FakeJob:
    job = recorded()
    for number in range(traces):
        key = profile_key(0, "operators", number, "abcd_p1")
        leave_trace(job, *(operator(f"op{n}", n, 1) for n in range(99)), key=key)
    job.close()
    assert decode_waiting(job.backend, 0, job.clock) == traces
    return job


def test_intact_operations_are_not_reported() -> None:
    job = decoded_after_the_end(traces=3)
    assert len(job.stored(".frames")) > 3
    assert damage_of(job.job()) == []


def test_a_decoded_trace_without_operations_is_not_missing() -> None:
    job = recorded()
    leave_trace(job)
    job.close()
    assert decode_waiting(job.backend, 0, job.clock) == 1
    assert damage_of(job.job()) == []


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_a_truncated_log_of_operations_is_reported(share: float) -> None:
    job = decoded_after_the_end()
    key = key_of(job, "/operations/")
    data = job.backend.read(key)
    job.backend.write(key, data[: int(share * len(data))])
    assert (key, "damaged") in damage_of(job.job())


def test_a_missing_log_of_operations_is_reported() -> None:
    job = decoded_after_the_end()
    key = key_of(job, "/operations/")
    job.backend.delete([key])
    assert (key, "missing") in damage_of(job.job())


def test_sealed_and_merged_operations_are_not_missing() -> None:
    job = decoded_after_the_end(traces=3)
    seal_folder(FamilyFolder(job.backend, "workers/0", OPERATIONS), is_over=True, merge_all=True)
    assert not any("/operations/" in key for key in job.stored(".frames"))
    assert damage_of(job.job()) == []


def test_a_damaged_list_of_decoded_files_is_reported() -> None:
    job = decoded_after_the_end()
    key = key_of(job, "/decoded/")
    job.backend.write(key, job.backend.read(key)[:-9])
    assert (key, "damaged") in damage_of(job.job())


def test_the_list_of_decoded_files_is_recognized() -> None:
    key = key_of(decoded_after_the_end(), "/decoded/")
    assert is_ours(key)
    assert describe(key) == "list of files decoded from a profile of worker 0"
