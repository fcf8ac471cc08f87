"""Sampling: schedule, failures and cost budget."""

import os
import threading
import uuid
from collections.abc import Sequence

import pytest

from sonde.agent.sampler import Absence, Sampler, open_collectors
from sonde.agent.system import COLLECTORS, Collector, Machine
from sonde.clock import SystemClock
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series
from sonde.store.backends import Backend, open_backend
from sonde.store.format import NOTICES, SYSTEM
from sonde.store.layout import node_folder
from sonde.store.reader import FolderReader
from sonde.store.writer import Writer
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually
from tests.fakes.job import all_samples

NODE = "node-a"


class Counting(Collector):
    """Returns 1, 2, 3, …"""

    def __init__(self, name: str = "count", every_seconds: float = 0.0) -> None:
        super().__init__(Machine())
        self.interval_seconds = every_seconds
        self.series = (Series(MetricInfo(f"{name}.value", "", "how often it was read")),)
        self.reads = 0
        self.is_closed = False

    def open(self) -> None:
        pass

    def read(self, seconds: float) -> Sequence[float]:
        self.reads += 1
        return (float(self.reads),)

    def close(self) -> None:
        self.is_closed = True


class Failing(Counting):
    """Fails from its third reading on."""

    def read(self, seconds: float) -> Sequence[float]:
        if self.reads >= 2:
            raise OSError("the device is gone")
        return super().read(seconds)


class Growing(Counting):
    """Adds a series at its third reading."""

    def read(self, seconds: float) -> Sequence[float]:
        (value,) = super().read(seconds)
        if self.reads == 3:
            self.series = (*self.series, Series(self.series[0].metric, "second"))
        return (value,) * len(self.series)


class Wrong(Counting):
    """Returns no values."""

    def read(self, seconds: float) -> Sequence[float]:
        return ()


class Blocking(Counting):
    """Blocks in its first read until it is released."""

    is_slow = True

    def __init__(self, name: str, released: list[bool]) -> None:
        super().__init__(name)
        self._released = released

    def read(self, seconds: float) -> Sequence[float]:
        eventually(lambda: bool(self._released))
        self.reads = 1
        return (7.0,)


class Bench:
    """A sampler with a manual clock."""

    def __init__(
        self, *collectors: Counting, interval_seconds: float = 0.5, cost: float = 0.0
    ) -> None:
        self.clock = FakeClock()
        self.backend: Backend = open_backend(f"memory://{uuid.uuid4().hex}/job")
        self.writer = Writer(self.backend, node_folder(NODE), self.clock)
        named = {
            collector.series[0].metric.name.partition(".")[0]: collector for collector in collectors
        }
        self.sampler = Sampler(
            dict(named),
            self.writer,
            self.clock,
            interval_seconds,
            cpu_seconds=lambda: self.clock.seconds() * cost,
        )

    def tick(self, times: int = 1) -> None:
        for _ in range(times):
            self.sampler.tick()
            self.clock.advance(self.sampler.interval_seconds)

    def values(self, key: str) -> list[float]:
        return list(all_samples(self._reader()).get(key, {}).values())

    def notices(self) -> list[tuple[str, str]]:
        self._flush()
        reader = FolderReader(self.backend, node_folder(NODE), NOTICES)
        reader.refresh()
        return [(row["kind"], row["what"]) for row in reader.rows().to_pylist()]

    def _reader(self) -> FolderReader:
        self._flush()
        reader = FolderReader(self.backend, node_folder(NODE), SYSTEM)
        reader.refresh()
        return reader

    def _flush(self) -> None:
        self.writer.flush()
        self.writer.outbox.write_waiting()


def test_every_tick_reads_and_records() -> None:
    bench = Bench(Counting())
    bench.tick(4)
    assert bench.values("count.value") == [1, 2, 3, 4]


def test_collector_is_not_read_more_often_than_its_interval() -> None:
    bench = Bench(Counting("often"), Counting("seldom", every_seconds=1.0), interval_seconds=0.5)
    bench.tick(8)
    assert bench.values("often.value") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert bench.values("seldom.value") == [1, 2, 3, 4]


def test_a_failing_collector_does_not_stop_the_others() -> None:
    failing = Failing("bad")
    bench = Bench(failing, Counting("good"))
    bench.tick(6)
    assert bench.values("bad.value") == [1, 2]
    assert bench.values("good.value") == [1, 2, 3, 4, 5, 6]
    assert bench.notices() == [("switched-off", "collector bad")]


def test_collector_may_add_series() -> None:
    bench = Bench(Growing("grow"), Counting("good"))
    bench.tick(4)
    assert bench.values("grow.value") == [1, 2, 3, 4]
    assert bench.values("grow.value/second") == [3, 4]
    assert bench.values("good.value") == [1, 2, 3, 4]


def test_a_reading_of_the_wrong_length_is_not_recorded() -> None:
    bench = Bench(Wrong("wrong"), Counting("good"))
    bench.tick(3)
    assert bench.values("wrong.value") == []
    assert bench.values("good.value") == [1, 2, 3]


def test_sampling_cost_is_a_metric() -> None:
    bench = Bench(Counting(), cost=0.004)
    bench.tick(45)
    assert bench.values("sonde.cpu_percent") == pytest.approx([0.4, 0.4])
    assert len(bench.values("sonde.collector_seconds/count")) == 2
    assert bench.notices() == []


def test_interval_increases_above_the_cost_budget() -> None:
    bench = Bench(Counting(), cost=0.02)
    bench.tick(90)
    assert bench.sampler.interval_seconds == 1.0
    assert bench.notices() == [("changed", "sampling interval")]


def test_interval_increases_up_to_a_minute() -> None:
    bench = Bench(Counting(), interval_seconds=50, cost=0.5)
    bench.tick(30)
    assert bench.sampler.interval_seconds == 60


def real_sampler(collector: Counting, interval_seconds: float) -> tuple[Sampler, Bench]:
    """Return a sampler that runs in its thread."""
    bench = Bench(collector)
    return Sampler({"count": collector}, bench.writer, SystemClock(), interval_seconds), bench


def stopped(sampler: Sampler) -> bool:
    sampler.stop(60)
    return True


class Hanging(Counting):
    """Blocks in its second read until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.hangs = threading.Event()
        self.released = threading.Event()

    def read(self, seconds: float) -> Sequence[float]:
        if self.reads:
            self.hangs.set()
            self.released.wait(120)
        return super().read(seconds)


def test_hanging_collector_does_not_delay_the_end() -> None:
    collector = Hanging()
    sampler, _ = real_sampler(collector, 0.1)
    clock = SystemClock()
    sampler.start(flush_seconds=60)
    assert collector.hangs.wait(60)
    started = clock.seconds()
    sampler.stop(0.2)
    assert clock.seconds() - started < 60
    assert not collector.is_closed
    collector.released.set()


def test_sampler_runs_until_stopped_with_a_last_sample() -> None:
    collector = Counting()
    sampler, bench = real_sampler(collector, 0.1)
    sampler.start(flush_seconds=60)
    assert eventually(lambda: collector.reads >= 3)
    assert stopped(sampler)
    assert collector.is_closed
    assert len(bench.values("count.value")) == collector.reads


@pytest.mark.parametrize("is_slow", [False, True])
def test_changed_interval_takes_effect_immediately(*, is_slow: bool) -> None:
    collector = Counting()
    collector.is_slow = is_slow
    sampler, bench = real_sampler(collector, 60)
    sampler.start(flush_seconds=60)
    assert eventually(lambda: collector.reads >= 1)
    sampler.set_interval(0.1)
    assert eventually(lambda: collector.reads >= 4)
    assert stopped(sampler)
    assert bench.values("count.value")


def test_nothing_is_read_while_monitoring_is_off() -> None:
    collector = Counting()
    sampler, bench = real_sampler(collector, 0.1)
    sampler.is_monitoring = False
    sampler.start(flush_seconds=0)
    assert stopped(sampler)
    assert collector.reads == 0
    assert bench.values("count.value") == []


def test_slow_collector_does_not_delay_sampling() -> None:
    released: list[bool] = []
    slow = Blocking("slow", released)
    quick = Counting("quick")
    bench = Bench(slow, quick)
    sampler = Sampler({"slow": slow, "quick": quick}, bench.writer, SystemClock(), 0.1)
    sampler.start(flush_seconds=60)
    assert eventually(lambda: quick.reads >= 3)
    released.append(True)
    assert eventually(lambda: set(bench.values("slow.value")) == {7})
    assert stopped(sampler)


def test_further_launchers_on_a_machine_sample_only_the_processes_of_the_job() -> None:
    machine = Machine(job_pid=os.getpid())
    result, missing = open_collectors(machine, ("memory", "process_tree"), samples_machine=False)
    for collector in result.values():
        collector.close()
    assert list(result) == ["process_tree"]
    assert missing == {"memory": Absence("recorded by another launcher on this machine")}


def test_unavailable_collectors_report_why(monkeypatch: pytest.MonkeyPatch) -> None:
    class Absent(Counting):
        def open(self) -> None:
            raise NothingToCollectError("no such device here")

    class Broken(Counting):
        def open(self) -> None:
            raise OSError("cannot open")

    kinds = {"good": Counting, "absent": Absent, "broken": Broken}
    monkeypatch.setattr(
        type(COLLECTORS), "load", lambda _slot, name: lambda _machine: kinds[name](name)
    )
    result, missing = open_collectors(Machine(), ("good", "absent", "broken"))
    assert list(result) == ["good"]
    assert missing == {
        "absent": Absence("no such device here"),
        "broken": Absence("failed: OSError: cannot open", is_failure=True),
    }
