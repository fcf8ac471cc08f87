"""Following a job and waiting for conditions."""

import json
import threading
from dataclasses import asdict

import pytest

from sonde.client.job import Job
from sonde.errors import JobEndedError, UsageError, WaitTimeoutError
from sonde.records.finding import Episode, Finding, Severity
from sonde.records.job import JobState
from sonde.store.format import FINDINGS
from sonde.store.layout import FINDINGS_FOLDER
from sonde.store.lease import Leasing
from sonde.store.writer import Writer
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob
from tests.fakes.s3 import s3_server, use_s3_server


class _Acts(FakeClock):
    """A clock that runs the next event at every pause."""

    def __init__(self, *acts: object) -> None:
        super().__init__()
        self.acts = list(acts)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        if self.acts:
            self.acts.pop(0)()  # type: ignore[operator]
        return super().wait(event, seconds)


def _training(uri: str = "") -> tuple[FakeJob, Job, _Acts]:
    clock = _Acts()
    fake = FakeJob(uri, clock=clock)
    worker = fake.worker()

    def train(step: int) -> None:
        worker.scalar("loss", step, 1.0 / (step + 1)).step(step, {"forward": 0.1}).flush()

    train(0)
    clock.acts += [
        lambda: train(1),
        lambda: None,
        lambda: fake.record({"gpu.memory_used_percent/gpu0": [95.0]}),
        lambda: train(2),
        fake.end,
    ]
    return fake, fake.job(), clock


def test_updates_arrive_once_and_end_with_the_job() -> None:
    _, job, _ = _training()
    news = list(job.follow())
    steps = [row["step"] for update in news for row in update.steps.to_pylist()]
    losses = [row["value"] for update in news for row in update.scalars.to_pylist()]
    assert steps == [1, 2]
    assert losses == [0.5, 1 / 3]
    assert news[-1].state is JobState.COMPLETED
    assert all(update or update.state.is_over for update in news)


def test_updates_from_the_start_begin_with_existing_data() -> None:
    _, job, _ = _training()
    first = next(iter(job.follow(from_start=True)))
    assert first.steps.num_rows == 1
    assert repr(first) == "running; 1 step, up to 0; loss 1"


def test_following_a_finished_job_yields_only_its_state() -> None:
    [update] = FakeJob().end().job().follow()
    assert update.state is JobState.COMPLETED
    assert not update


@pytest.mark.parametrize(
    ("condition", "steps"),
    [
        ({"step": 1}, 2),
        ({"metric": "loss < 0.4"}, 3),
        ({"metric": "gpu.memory_used_percent >= 95"}, 2),
        ({"state": "over"}, 3),
        ({"state": "completed"}, 3),
        ({"condition": lambda job: len(job.steps()) == 2}, 2),
    ],
)
def test_waiting_ends_when_the_condition_holds(condition: dict, steps: int) -> None:  # type: ignore[type-arg]
    _, job, _ = _training()
    assert len(job.wait_for(**condition).steps()) == steps


def test_waiting_for_a_condition_that_never_holds_ends_with_the_job() -> None:
    _, job, _ = _training()
    with pytest.raises(JobEndedError, match="completed and did not reach step 99"):
        job.wait_for(step=99)


def _judged_after_the_end() -> Job:
    """Return a job whose rules report a finding two pauses after its end, then finish."""
    clock = _Acts()
    fake = FakeJob(clock=clock)
    fake.worker().step(0, {"forward": 0.1}).flush()
    leasing = Leasing(fake.backend, clock, "")
    leasing.take()
    clock.acts += [fake.end, lambda: None, lambda: report_finding(fake), leasing.release]
    return fake.job()


def report_finding(fake: FakeJob) -> None:
    """Record a critical finding."""
    finding = Finding("DeadRelu", Severity.CRITICAL, "Nothing comes through.", "look")
    episode = Episode("e1", finding, fake.clock.now_ns(), fake.clock.now_ns(), 1)
    texts = (finding.rule, finding.severity.value, finding.message)
    writer = Writer(fake.backend, FINDINGS_FOLDER, fake.clock)
    writer.add(FINDINGS, (episode.last_ns, *texts, json.dumps(asdict(episode))))
    writer.flush()
    writer.outbox.write_waiting()


def test_findings_made_after_the_end_can_be_waited_for() -> None:
    assert _judged_after_the_end().wait_for(finding="dead_relu").state is JobState.COMPLETED
    with pytest.raises(JobEndedError, match="completed and did not reach finding StepOutlier"):
        _judged_after_the_end().wait_for(finding="StepOutlier")


def test_findings_made_after_the_end_are_updates() -> None:
    news = list(_judged_after_the_end().follow())
    assert [len(update.findings) for update in news] == [0, 1]
    assert {update.state for update in news} == {JobState.COMPLETED}


def test_waiting_ends_at_its_timeout() -> None:
    _, job, _ = _training()
    with pytest.raises(WaitTimeoutError, match=r"within 1 s"):
        job.wait_for(step=99, timeout=1)
    with pytest.raises(TimeoutError):
        _training()[1].wait_for(finding="critical", timeout=0)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({}, "exactly one of: condition"),
        ({"step": 1, "state": "over"}, "exactly one of: condition"),
        ({"metric": "loss"}, "Example: loss < 0.3"),
        ({"state": "asleep"}, "Unknown state 'asleep'"),
    ],
)
def test_invalid_wait_conditions_are_refused(condition: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(UsageError, match=message):
        _training()[1].wait_for(**condition)


def test_a_job_in_an_object_store_can_be_followed_and_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with s3_server("followed") as port:
        use_s3_server(port, monkeypatch)
        _, job, _ = _training("s3://followed/store/job")
        assert len(job.wait_for(step=1).steps()) == 2
        assert [update.state for update in job.follow()][-1] is JobState.COMPLETED
        assert len(job.steps().histogram(3).to_arrow()) == 3
        assert job.losses.plot()._repr_html_()
