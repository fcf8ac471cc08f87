"""Exit reasons."""

import signal
from pathlib import Path

import pytest

from sonde.agent.exits import Ending, Kills, MemoryKills, explain, shell_code, signal_name
from sonde.records.job import ExitReason, JobState
from sonde.records.worker import Failure
from tests.fakes.machine import FakeMachine

NO_KILLS = Kills()


@pytest.fixture
def fake(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path)


def count(fake: FakeMachine, kernel: int, group: int | None = None) -> None:
    """Set the counters of out-of-memory kills."""
    fake.write("proc/vmstat", f"nr_free_pages 1\noom_kill {kernel}\n")
    if group is not None:
        fake.write("proc/self/cgroup", "0::/job\n")
        fake.write("sys/fs/cgroup/cgroup.controllers", "memory\n")
        fake.write("sys/fs/cgroup/job/memory.events", f"max 3\noom_kill {group}\n")


def test_success_needs_no_message() -> None:
    exit_ = explain(Ending(0, 5), NO_KILLS)
    assert (exit_.state, exit_.reason) == (JobState.COMPLETED, ExitReason.EXIT)
    assert (exit_.code, exit_.signal, exit_.message) == (0, None, None)


def test_a_nonzero_exit_code_is_a_failure() -> None:
    exit_ = explain(Ending(3, 5), NO_KILLS)
    assert (exit_.state, exit_.reason) == (JobState.FAILED, ExitReason.EXIT)
    assert (exit_.code, exit_.message) == (3, "exit code 3")


def test_a_signal_is_named() -> None:
    exit_ = explain(Ending(-signal.SIGSEGV, 5), NO_KILLS)
    assert (exit_.reason, exit_.signal) == (ExitReason.SIGNAL, "SIGSEGV")
    assert (exit_.code, exit_.message) == (139, "killed by SIGSEGV")


def test_kill_counted_in_the_control_group_is_out_of_memory() -> None:
    for code in (-9, 137):  # killed directly, or reported by a shell for its child
        exit_ = explain(Ending(code, 5), Kills(in_group=1, anywhere=1))
        assert exit_.reason is ExitReason.HOST_OUT_OF_MEMORY
        assert exit_.state is JobState.FAILED
        assert exit_.message is not None
        assert "out of memory" in exit_.message


def test_kill_with_kills_elsewhere_is_a_signal() -> None:
    exit_ = explain(Ending(-9, 5), Kills(in_group=0, anywhere=4))
    assert exit_.reason is ExitReason.SIGNAL
    assert exit_.message is not None
    assert "during the job (out-of-memory kills on this machine: 4)" in exit_.message


def test_kernel_count_is_used_without_a_control_group() -> None:
    assert explain(Ending(-9, 5), Kills(anywhere=1)).reason is ExitReason.HOST_OUT_OF_MEMORY


def test_a_failure_after_a_worker_was_killed_is_a_failure_with_a_hint() -> None:
    exit_ = explain(Ending(1, 5), Kills(in_group=1, anywhere=1))
    assert exit_.reason is ExitReason.EXIT
    assert exit_.message is not None
    assert exit_.message.startswith("exit code 1; memory ran out during the job")
    assert exit_.message == f"exit code 1; {exit_.hint}"


def test_stopped_job_is_stopped_with_any_exit_code() -> None:
    for code in (0, 1, -9, -15):
        exit_ = explain(Ending(code, 5, stopped_by="me"), Kills(in_group=1))
        assert (exit_.state, exit_.reason) == (JobState.STOPPED, ExitReason.STOPPED)
        assert exit_.message == "stopped by me"


def test_a_failed_start_is_explained() -> None:
    exit_ = explain(Ending(127, 5), NO_KILLS, "x: no such file or directory")
    assert (exit_.code, exit_.message) == (127, "x: no such file or directory")


def test_kills_are_counted_from_the_start_of_the_job(fake: FakeMachine) -> None:
    count(fake, kernel=10, group=2)
    kills = MemoryKills(fake.machine())
    assert kills.since() == Kills(in_group=0, anywhere=0)
    count(fake, kernel=12, group=3)
    assert kills.since() == Kills(in_group=1, anywhere=2)
    assert kills.since().is_likely


def test_kills_outside_the_control_group_are_not_counted(fake: FakeMachine) -> None:
    count(fake, kernel=10, group=2)
    kills = MemoryKills(fake.machine())
    count(fake, kernel=15, group=2)
    assert kills.since() == Kills(in_group=0, anywhere=5)
    assert not kills.since().is_likely


def test_kernel_without_counters_reports_no_kills(fake: FakeMachine) -> None:
    kills = MemoryKills(fake.machine())
    assert kills.since() == Kills(in_group=None, anywhere=0)
    assert not kills.since().is_likely


def test_exit_codes_match_those_of_a_shell() -> None:
    assert [shell_code(code) for code in (0, 1, 255, -1, -9, -64)] == [0, 1, 255, 129, 137, 192]


def test_real_time_signals_are_named() -> None:
    assert signal_name(signal.SIGRTMIN + 3) == "SIGRTMIN+3"
    assert signal_name(9) == "SIGKILL"


OUT_OF_DEVICE_MEMORY = Failure(
    3, 4, ExitReason.DEVICE_OUT_OF_MEMORY, "no room", "Traceback …", detail="the allocator"
)
RAISED = Failure(-1, 4, ExitReason.EXCEPTION, "ValueError: x", "Traceback …")


def test_failure_of_a_worker_is_the_reason_with_its_traceback() -> None:
    exit_ = explain(Ending(1, 5), NO_KILLS, failure=OUT_OF_DEVICE_MEMORY)
    assert (exit_.reason, exit_.message) == (ExitReason.DEVICE_OUT_OF_MEMORY, "no room")
    assert (exit_.worker, exit_.traceback) == (3, "Traceback …\nthe allocator")
    assert exit_.code == 1


def test_process_without_a_rank_is_not_a_worker() -> None:
    exit_ = explain(Ending(1, 5), NO_KILLS, failure=RAISED)
    assert (exit_.reason, exit_.worker) == (ExitReason.EXCEPTION, None)
    assert exit_.traceback == "Traceback …"


def test_signal_is_the_reason_and_the_earlier_failure_is_included() -> None:
    exit_ = explain(Ending(-signal.SIGABRT, 5), NO_KILLS, failure=RAISED)
    assert exit_.reason is ExitReason.SIGNAL
    assert exit_.message == "killed by SIGABRT; ValueError: x"
    assert exit_.traceback == "Traceback …"


def test_stops_and_out_of_memory_kills_have_no_other_reason() -> None:
    stopped = explain(Ending(1, 5, "somebody"), NO_KILLS, failure=RAISED)
    killed = explain(Ending(-9, 5), Kills(in_group=1), failure=RAISED)
    assert (stopped.reason, stopped.traceback) == (ExitReason.STOPPED, None)
    assert (killed.reason, killed.traceback) == (ExitReason.HOST_OUT_OF_MEMORY, None)


def test_interrupt_is_not_reported_twice() -> None:
    interrupted = Failure(-1, 4, ExitReason.SIGNAL, "KeyboardInterrupt", "Traceback …")
    exit_ = explain(Ending(-signal.SIGINT, 5), NO_KILLS, failure=interrupted)
    assert (exit_.message, exit_.traceback) == ("killed by SIGINT", "Traceback …")


def test_job_that_stops_itself_is_stopped_and_not_failed() -> None:
    refused = Failure(
        1, 4, ExitReason.STOPPED, "non-finite gradients in w at step 5", "Traceback …"
    )
    exit_ = explain(Ending(1, 5), NO_KILLS, failure=refused)
    assert (exit_.state, exit_.reason) == (JobState.STOPPED, ExitReason.STOPPED)
    assert exit_.message == "stopped by non-finite gradients in w at step 5"
    assert exit_.traceback is None
