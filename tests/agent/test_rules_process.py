"""The rules process of a job: started when needed, one at a time, with a time limit."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sonde.agent import rules_process as rules_process_module
from sonde.agent.registration import Registration
from sonde.agent.rules_process import RulesProcess, rules_command
from sonde.clock import SystemClock
from sonde.settings import RuleOptions, RunSettings
from sonde.store.backends import open_backend
from sonde.store.layout import JOB, worker_key
from sonde.store.lease import Leasing
from tests.fakes.eventually import eventually


class RulesFixture:
    """A rules process whose command only records that it ran."""

    def __init__(self, tmp_path: Path, code: str = "pass", *, is_creator: bool = True) -> None:
        self.registration = Registration(
            "job", "node-a", 1, open_backend(str(tmp_path / "job")), is_creator=is_creator
        )
        self.registration.backend.write(JOB, b"{}")
        self._runs = tmp_path / "runs"
        mark = f"open({str(self._runs)!r}, 'a').write('x')"
        command = (sys.executable, "-S", "-c", f"{mark}\n{code}")
        self.failures: list[str] = []
        self.rules = RulesProcess(self.registration, command, SystemClock(), self.failures.append)

    @property
    def runs(self) -> int:
        return len(self._runs.read_text()) if self._runs.exists() else 0

    def train(self) -> None:
        self.registration.backend.write(worker_key(0, 1, 0, "start"), b"{}")

    def until(self, condition: Callable[[], bool]) -> bool:
        def poll() -> bool:
            self.rules.check()
            return condition()

        return eventually(poll)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_CHECK_SECONDS", "_RESTART_SECONDS"):
        monkeypatch.setattr(rules_process_module, name, 0.0)


def test_short_command_without_training_runs_no_rules(tmp_path: Path) -> None:
    fixture = RulesFixture(tmp_path)
    fixture.rules.check()
    fixture.rules.finish(60)
    assert fixture.runs == 0


def test_rules_start_with_the_first_worker(tmp_path: Path) -> None:
    fixture = RulesFixture(tmp_path)
    fixture.train()
    fixture.rules.check()
    assert eventually(lambda: fixture.runs == 1)
    fixture.rules.switch_off()


def test_rules_run_at_the_end_of_a_short_training(tmp_path: Path) -> None:
    fixture = RulesFixture(tmp_path)
    fixture.train()
    fixture.rules.finish(60)
    assert fixture.runs == 1
    assert fixture.rules.cpu_seconds > 0


def test_rules_run_on_a_long_command_without_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules_process_module, "_MIN_JOB_SECONDS", 0.0)
    fixture = RulesFixture(tmp_path)
    fixture.rules.check()
    assert eventually(lambda: fixture.runs == 1)
    fixture.rules.switch_off()


def test_node_that_created_the_job_runs_rules_first(tmp_path: Path) -> None:
    fixture = RulesFixture(tmp_path, is_creator=False)
    fixture.train()
    fixture.rules.check()
    fixture.rules.switch_off()
    assert fixture.runs == 0


def test_only_one_node_runs_rules(tmp_path: Path) -> None:
    fixture = RulesFixture(tmp_path)
    fixture.train()
    lease = Leasing(fixture.registration.backend, SystemClock(), "node-a")
    lease.take()
    fixture.rules.check()
    fixture.rules.finish(60)
    assert fixture.runs == 0
    lease.release()
    fixture.rules.finish(60)
    assert fixture.runs == 1


def test_crashed_rules_process_is_restarted_up_to_a_limit(tmp_path: Path) -> None:
    fixture = RulesFixture(tmp_path, "raise MemoryError('too much')")
    fixture.train()
    assert fixture.until(lambda: bool(fixture.failures))
    assert fixture.runs == 3
    [message] = fixture.failures
    assert "crashed 3 times" in message
    assert "MemoryError: too much" in message
    fixture.rules.finish(60)
    assert fixture.runs == 3


def test_rules_that_have_seen_the_end_are_not_run_again(tmp_path: Path) -> None:
    fixture = RulesFixture(tmp_path)
    fixture.train()
    fixture.rules.check()
    assert eventually(lambda: not fixture.rules._process.is_running())
    fixture.rules.finish(60)
    assert fixture.runs == 1


def test_rules_process_that_fails_at_the_end_is_reported(tmp_path: Path) -> None:
    fixture = RulesFixture(tmp_path, "raise MemoryError('too much')")
    fixture.train()
    fixture.rules.finish(60)
    assert fixture.runs == 1
    assert fixture.failures == ["the rules process failed with exit code 1: MemoryError: too much"]


def test_hanging_rules_process_does_not_delay_the_end(tmp_path: Path) -> None:
    clock = SystemClock()
    fixture = RulesFixture(tmp_path, "import time; time.sleep(600)")
    fixture.train()
    fixture.rules.check()
    assert eventually(lambda: fixture.runs == 1)
    started = clock.seconds()
    fixture.rules.finish(0.2)
    assert clock.seconds() - started < 60


def test_cpu_time_is_known_while_rules_run(tmp_path: Path) -> None:
    fixture = RulesFixture(tmp_path, "while True: pass")
    fixture.train()
    fixture.rules.check()
    assert eventually(lambda: fixture.rules.cpu_seconds > 0)
    fixture.rules.switch_off()


def test_command_runs_rules_until_the_attempt_ends(tmp_path: Path) -> None:
    fixture = RulesFixture(tmp_path)
    requested = RuleOptions(("StepOutlier", "overfit"), ("StepOutlier.stddev=4",))
    words = rules_command(
        fixture.registration, RunSettings(rule_options=requested, file="/here/sonde.toml")
    )
    assert words[1:] == (
        *("-P", "-m", "sonde", "follow", fixture.registration.backend.uri, "--attempt", "node-a/1"),
        *("--config", "/here/sonde.toml", "--rules", "StepOutlier,overfit"),
        *("--set", "StepOutlier.stddev=4"),
    )
