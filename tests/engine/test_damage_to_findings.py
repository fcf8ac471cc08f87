"""Damage to findings recorded after the end of an attempt is reported."""

from sonde.engine.runner import Recorder
from sonde.store.format import FINDINGS
from sonde.store.seal import FamilyFolder, seal_folder
from tests.fakes.job import FakeJob
from tests.fakes.training import with_losses
from tests.read.test_damage import damage_of, key_of
from tests.rules.own_rules import LossTooLarge


def record_findings() -> FakeJob:
    job = with_losses([0.5] * 20 + [2.0] * 10 + [0.5] * 40).close()
    Recorder(job.backend, job.clock, [LossTooLarge()]).advance()
    return job


def cut_last_byte(job: FakeJob) -> str:
    key = key_of(job, "/findings/")
    job.backend.write(key, job.backend.read(key)[:-1])
    return key


def test_intact_findings_are_not_reported() -> None:
    assert damage_of(record_findings().job()) == []


def test_a_truncated_log_of_findings_is_reported() -> None:
    job = record_findings()
    key = cut_last_byte(job)
    assert (key, "damaged") in damage_of(job.job())


def test_running_rules_again_does_not_hide_a_truncated_log() -> None:
    job = record_findings()
    key = cut_last_byte(job)
    Recorder(job.backend, job.clock, [LossTooLarge()]).advance()
    assert (key, "damaged") in damage_of(job.job())


def test_a_missing_log_of_findings_is_reported() -> None:
    job = record_findings()
    key = key_of(job, "/findings/")
    job.backend.delete([key])
    assert (key, "missing") in damage_of(job.job())


def test_sealed_findings_are_not_missing() -> None:
    job = record_findings()
    seal_folder(FamilyFolder(job.backend, "findings", FINDINGS), is_over=True, merge_all=True)
    assert not any("/findings/" in key for key in job.stored(".frames"))
    assert damage_of(job.job()) == []
