"""Rules on a running job: findings are stored soon, across restarts of the watcher."""

from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path

import pytest

from sonde.engine.live import Watcher
from sonde.engine.runner import EVALUATIONS, Recorder
from sonde.errors import StoreError
from sonde.records.finding import Episode
from sonde.records.job import Launcher
from sonde.rules import Rule
from sonde.store import lease as lease_module
from sonde.store.layout import JOB
from sonde.store.lease import LEASE, Leasing
from sonde.store.removal import remove_job
from tests.fakes.job import FakeJob
from tests.rules.own_rules import LossTooLarge

FREE_OF_CHARGE = 0.0


class Live:
    """A job that trains while it is watched: ten steps per poll."""

    def __init__(self, losses: Sequence[float]) -> None:
        self.job = FakeJob()
        self._losses = list(losses)
        self._worker = self.job.worker()
        self._step = 0
        self.taken: list[Episode] = []
        self.found_at: dict[int, float] = {}  # seconds from the end of a step to its finding

    def watcher(self, *rules: Rule) -> Watcher:
        job = self.job
        return Watcher(
            job.backend,
            job.clock,
            Leasing(job.backend, job.clock, job.node),
            lambda: Recorder(job.backend, job.clock, rules or (LossTooLarge(),)),
            self._take,
        )

    def watch(self, watcher: Watcher, until_step: int | None = None) -> bool:
        def should_stop() -> bool:
            self.train()
            return until_step is not None and self._step >= until_step

        return watcher.watch(should_stop, lambda: FREE_OF_CHARGE)

    def train(self, steps: int = 10) -> None:
        """Record steps of 0.1 s; end the job after the last loss."""
        for _ in range(steps):
            if self._step == len(self._losses):
                self.job.end()
                return
            self._worker.scalar("loss", self._step, self._losses[self._step])
            self._worker.step(self._step, {"forward": 0.1})
            self._step += 1
        self._worker.flush()

    def _take(self, changed: Sequence[Episode]) -> None:
        self.taken += changed
        for item in changed:
            late = (self.job.clock.now_ns() - item.first_ns) / 1e9
            self.found_at.setdefault(item.first_step or 0, late)


HEALTHY, BAD = [0.5] * 100, [2.0] * 20


def test_watching_a_job_finds_the_same_as_checking_it_afterwards() -> None:
    live = Live(HEALTHY + BAD + HEALTHY)
    assert live.watch(live.watcher())
    [recorded] = live.job.job().judgement()
    [checked] = live.job.job().check(LossTooLarge)
    assert recorded.episodes == checked.episodes
    assert (recorded.status, recorded.triggered) == (checked.status, 20)
    assert not recorded.episodes[0].is_open


def test_a_finding_is_published_and_stored_within_seconds() -> None:
    live = Live(HEALTHY + BAD + HEALTHY)
    live.watch(live.watcher())
    assert live.taken[0].first_step == 100
    # a 1 s window, 2 s until its data is complete, 2 s between polls
    assert live.found_at[100] <= 6.0


def test_a_new_watcher_continues_after_a_killed_one() -> None:
    live = Live(HEALTHY + BAD + HEALTHY)
    live.watch(live.watcher(), until_step=110)
    live.job.backend.write(LEASE, b"left behind")
    assert live.watch(live.watcher())
    [finding] = live.job.job().findings()
    assert (finding.first_step, finding.triggered) == (100, 20)


def test_open_episodes_are_published_again_after_a_restart() -> None:
    live = Live(HEALTHY + BAD + BAD)
    live.watch(live.watcher(), until_step=140)
    live.taken.clear()
    live.watch(live.watcher())
    assert live.taken[0].id == "LossTooLarge:loss:1"


def test_a_watcher_does_not_start_while_another_holds_the_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    live = Live(HEALTHY)
    second = Launcher(1, "0", "another machine")
    with monkeypatch.context() as patch:
        patch.setattr(lease_module, "this_process", lambda: second)
        Leasing(live.job.backend, live.job.clock, "node-b").take()
    assert not live.watch(live.watcher())
    assert live.job.stored("evaluations.json") == []


def test_a_watcher_that_loses_its_lease_stops() -> None:
    live = Live(HEALTHY + BAD + HEALTHY)
    watcher = live.watcher()

    def should_stop() -> bool:
        live.train()
        if live._step == 60:
            Leasing(live.job.backend, live.job.clock, "node-b").take()
        return False

    assert watcher.watch(should_stop, lambda: FREE_OF_CHARGE)
    assert live._step < 110
    assert Leasing(live.job.backend, live.job.clock, "x").holder.endswith("on node-b")


def test_no_finding_is_lost_while_the_store_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    live = Live(HEALTHY + BAD + HEALTHY)
    backend = live.job.backend
    write_to_store = backend.write

    def write(key: str, data: bytes) -> None:
        if key.startswith("rules/") and 90 < live._step < 150:
            raise StoreError("the disk is full")
        write_to_store(key, data)

    monkeypatch.setattr(backend, "write", write)
    assert live.watch(live.watcher())
    [finding] = live.job.job().findings()
    assert (finding.first_step, finding.triggered) == (100, 20)
    assert live.taken


def test_a_watcher_ends_when_its_job_is_removed() -> None:
    live = Live(HEALTHY * 1000)
    watcher = live.watcher()

    def should_stop() -> bool:
        if live._step < 50:
            live.train()
        else:
            live.job.backend.delete([JOB])
            live.job.clock.advance(1.0)
        return False

    assert watcher.watch(should_stop, lambda: FREE_OF_CHARGE)
    assert not live.job.backend.exists(JOB)


def test_expensive_polls_are_made_less_often() -> None:
    live = Live(HEALTHY * 5)
    times: list[float] = []
    spent = count()

    def cpu_seconds() -> float:
        times.append(live.job.clock.seconds())
        return 0.3 * next(spent)

    def should_stop() -> bool:
        live.train(1)
        return False

    live.watcher().watch(should_stop, cpu_seconds)
    polls = times[::2]
    gaps = [later - earlier for earlier, later in pairwise(polls)]
    assert min(gaps) >= 10.0


def test_a_watcher_releases_its_lease_at_the_end() -> None:
    live = Live(HEALTHY)
    live.watch(live.watcher())
    assert Leasing(live.job.backend, live.job.clock, "node-b").is_free()


def test_files_written_while_a_job_is_removed_are_deleted() -> None:
    live = Live(HEALTHY * 10)
    live.train(50)
    backend = live.job.backend
    rules: tuple[Rule, ...] = (LossTooLarge(),)

    def removed(_changed: Sequence[Episode]) -> None:
        remove_job(backend)

    leasing = Leasing(backend, live.job.clock, live.job.node)
    watcher = Watcher(
        backend,
        live.job.clock,
        leasing,
        lambda: Recorder(backend, live.job.clock, rules),
        removed,
    )
    watcher.watch(lambda: True, lambda: FREE_OF_CHARGE)
    assert [entry.key for entry in backend.entries("rules")] == []


@pytest.mark.parametrize("moment", ["between looks", "when findings are handed on", EVALUATIONS])
def test_a_job_removed_while_it_is_watched_leaves_no_file_and_no_folder(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = FakeJob(str(tmp_path / "job"))
    worker = job.worker()
    for step in range(50):
        worker.scalar("loss", step, 99.0).step(step, {"forward": 0.1})
    worker.flush()
    rules: tuple[Rule, ...] = (LossTooLarge(),)
    write = job.backend.write

    def remove_if(is_it: bool) -> None:
        if is_it:
            remove_job(job.backend)

    def write_removed(key: str, data: bytes) -> None:
        remove_if(key == moment)
        write(key, data)

    def should_stop() -> bool:
        job.clock.advance(10.0)  # the lease has to be renewed
        remove_if(moment == "between looks")
        return False

    monkeypatch.setattr(job.backend, "write", write_removed)
    watcher = Watcher(
        job.backend,
        job.clock,
        Leasing(job.backend, job.clock, job.node),
        lambda: Recorder(job.backend, job.clock, rules),
        lambda changed: remove_if(bool(changed) and moment == "when findings are handed on"),
    )
    assert watcher.watch(should_stop, lambda: FREE_OF_CHARGE)
    assert list(tmp_path.rglob("*")) == []
