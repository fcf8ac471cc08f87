"""The queries of an opened job: cached until a refresh, and never running a rule."""

from sonde.bounded_cache import byte_cache
from sonde.read.open_job import OpenJob
from sonde.records.finding import Finding, Severity
from sonde.results.findings import Judgement
from sonde.results.job import JobResults
from tests.fakes.job import FakeJob
from tests.fakes.stores import write_findings


def results_of(job: FakeJob) -> JobResults:
    return JobResults(OpenJob(job.backend, job.clock, byte_cache(1 << 20)))


def test_query_results_are_cached_until_a_refresh() -> None:
    job = FakeJob()
    worker = job.worker().step(0, {"forward": 1.0}).flush()
    results = results_of(job)
    assert results.steps().tables is results.steps().tables
    assert results.summary["steps"] == {"train": 1}
    worker.step(1, {"forward": 1.0}).flush()
    assert results.summary["steps"] == {"train": 1}
    results.refresh()
    assert results.summary["steps"] == {"train": 2}
    assert len(results.steps()) == 2


def test_results_that_are_read_on_first_use_count_toward_the_limit_of_the_cache() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(500):
        worker.step(step, {"forward": 1.0}, rest=0.0)
    worker.flush()
    cache = byte_cache(1 << 20)
    results = JobResults(OpenJob(job.backend, job.clock, cache))
    assert len(results.losses) == 0
    before = cache.size
    table = results.steps().to_arrow()
    assert len(results.losses) == 0
    assert cache.size - before > table.nbytes


def test_two_jobs_that_share_a_cache_do_not_share_results() -> None:
    cache = byte_cache(1 << 20)
    small, large = FakeJob(), FakeJob()
    small.worker().step(0, {"forward": 1.0}).flush()
    large.worker().step(0, {"forward": 1.0}).step(1, {"forward": 1.0}).flush()
    opened = [JobResults(OpenJob(job.backend, job.clock, cache)) for job in (small, large)]
    assert [len(results.steps()) for results in opened] == [1, 2]


def test_changing_the_summary_does_not_affect_the_next_caller() -> None:
    results = results_of(FakeJob().end())
    results.summary["state"] = "another"
    assert results.summary["state"] == "completed"


def test_judgement_reads_recorded_evaluations_without_running_rules() -> None:
    job = FakeJob().end()
    results = results_of(job)
    assert len(results.judgement().evaluations) == 0
    write_findings(job.backend, [Finding("LossSpike", Severity.INFO, "It jumped.")])
    assert [each.rule for each in results.judgement().evaluations] == ["LossSpike"]
    assert len(results.with_judgement(Judgement(results.name, ())).judgement()) == 0
