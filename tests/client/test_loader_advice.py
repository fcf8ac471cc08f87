"""Rules, commands and pages recommend the same number of loader processes."""

import json
from typing import Any

import pytest

from sonde.charts.loaders import Loaders
from sonde.cli._main import run_command_line
from sonde.read.loading import read_loaders
from sonde.read.workers import WorkerReader
from sonde.records.chart import Table
from sonde.records.loading import LoaderRecord
from sonde.records.ranges import TimeRange
from tests.fakes.job import FakeJob, series_of

METRICS = ("cgroup.cpus_available", "cpu.utilization_percent", "process_tree.cpu_percent")
RULES = ("Dataloader", "DataLoaderStarvation")


def starved(busy: float, uri: str = "", ranks: int = 1, processes: int = 1) -> FakeJob:
    """Record steps of 50 ms that wait 200 ms for cheap batches, on two cores."""
    job = FakeJob(uri)
    start_ns = job.clock.now_ns()
    for rank in range(ranks):
        job.clock._now_ns = start_ns
        worker = job.worker(rank, world_size=ranks)
        facts = {"num_workers": processes, "cores": 2, "dataset": "Images"}
        worker.operation("iterator start", "loading", 0.0, 0.01, lane="loader 0", detail=facts)
        lane, detail = "loader 0 process 0", {"cpu_seconds": 0.05}
        worker.operation("batch", "loading", 0.0, 0.2, lane=lane, detail=detail)
        for step in range(300):
            if rank == 0 and step % 4 == 0:
                series = tuple(map(series_of, METRICS))
                job.writer.add_sample(job.clock.now_ns(), series, (2.0, busy, 2 * busy))
            worker.step(step, {"data_wait": 0.2, "forward": 0.05})
        worker.flush()
    return job.end()


def by_rules(job: FakeJob) -> dict[str, object]:
    evaluations = job.job().check(*RULES)
    return {
        name: episode.finding.evidence["loader_processes_advised"]
        for name in RULES
        for episode in evaluations[name].episodes[:1]
    }


@pytest.mark.parametrize(
    ("busy", "number", "limit"),
    [(97.0, 2, "cores"), (20.0, 5, "nothing")],
    ids=["a full machine", "a core is free"],
)
def test_rules_and_command_recommend_the_same_worker_count(
    busy: float, number: int, limit: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    job = starved(busy, str(tmp_path / "starved"))
    assert by_rules(job) == dict.fromkeys(RULES, number)
    assert run_command_line(["dataloader", str(tmp_path / "starved"), "--json"]) == 0
    [loader] = json.loads(capsys.readouterr().out)["loaders"]
    assert (loader["processes_advised"], loader["limited_by"]) == (number, limit)
    [message] = [item["text"] for item in loader["advice"] if item["about"] == "processes"]
    assert f"(num_workers={number})" in message
    findings = job.job().check(*RULES)
    for name in RULES:
        assert findings[name].episodes[0].finding.advice.startswith(message)


def test_loader_profiles_are_read_rarely_while_training_waits_for_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    polls: list[int] = []

    def counted(reader: WorkerReader, within: TimeRange) -> tuple[LoaderRecord, ...]:
        polls.append(reader.rank)
        return read_loaders(reader, within)

    monkeypatch.setattr("sonde.rules.measures.training_loader.read_loaders", counted)
    assert by_rules(starved(97.0)) == dict.fromkeys(RULES, 2)
    # windows of 20 and of 50 steps in 300 steps, each evaluated twice: 42 in total
    assert len(polls) < 15


def test_the_report_shows_the_same_worker_count() -> None:
    spec = Loaders().build(starved(97.0).job())
    assert isinstance(spec, Table)
    indices = {column.name: index for index, column in enumerate(spec.columns)}
    [row] = spec.rows
    assert (row[indices["processes_advised"]], row[indices["limited_by"]]) == (2, "cores")
    assert spec.note == "1 loader process on 2 CPU cores. Data wait: 80% of step time."


def test_workers_on_the_same_machine_share_its_cores_in_every_recommendation() -> None:
    job = starved(97.0, ranks=2, processes=0)
    assert by_rules(job) == dict.fromkeys(RULES, 1)
    reports = job.job().dataloader(worker=1).reports
    assert [report.processes.advised for report in reports if report.processes is not None] == [1]


@pytest.mark.parametrize("is_evaluated_last", [False, True])
def test_the_evaluation_loader_is_not_mistaken_for_the_training_loader(
    is_evaluated_last: bool,
) -> None:
    job = FakeJob()
    worker = job.worker()
    train = {"num_workers": 1, "cores": 8, "dataset": "Images"}
    evaluation = {"num_workers": 0, "cores": 8, "dataset": "Few"}
    for epoch in range(3):
        worker.operation("iterator start", "loading", 0.0, 0.01, lane="loader 0", detail=train)
        worker.operation("batch", "loading", 0.0, 0.25, lane="loader 0 process 0")
        for step in range(100 * epoch, 100 * (epoch + 1)):
            worker.step(step, {"data_wait": 0.2, "forward": 0.05})
        if epoch < 2 or is_evaluated_last:
            worker.operation(
                "iterator start", "loading", 0.0, 0.01, lane="loader 1", detail=evaluation
            )
            worker.operation("batch", "loading", 0.0, 0.000464, lane="loader 1")
            for step in range(3 * epoch, 3 * (epoch + 1)):
                worker.step(step, {"data_wait": 0.0005, "forward": 0.05}, mode="eval")
    worker.flush()
    judged = job.end().job().check(*RULES)
    for name in RULES:
        [episode] = judged[name].episodes
        assert episode.finding.evidence["loader_processes"] == 1
        assert "takes 250 ms, and a step without waiting takes 50 ms" in (episode.finding.advice)
    [trained, _] = job.job().dataloader().reports
    assert trained.processes is not None
    assert judged[RULES[1]].episodes[0].finding.advice.startswith(trained.processes.text)
