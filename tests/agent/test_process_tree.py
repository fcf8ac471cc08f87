import os
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.agent.process_tree import (
    Process,
    ProcessTree,
    multiprocessing_helpers,
    processes_marked,
)
from tests.fakes.eventually import eventually
from tests.fakes.machine import FakeMachine


@pytest.fixture
def fake(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path)


def test_missing_root_raises(fake: FakeMachine) -> None:
    with pytest.raises(ProcessLookupError, match="no process 7"):
        ProcessTree(fake.proc, 7)


def test_descendants_of_any_depth_are_members_and_others_are_not(fake: FakeMachine) -> None:
    fake.process(12, parent=11)
    fake.process(11, parent=10)
    fake.process(10)
    fake.process(20)
    tree = ProcessTree(fake.proc, 10)
    tree.update(0.0)
    assert set(tree.members) == {10, 11, 12}


def test_member_remains_when_its_parent_exits(fake: FakeMachine) -> None:
    fake.process(10)
    fake.process(11, parent=10)
    fake.process(12, parent=11)
    tree = ProcessTree(fake.proc, 10)
    tree.update(0.0)
    fake.remove(11)
    fake.process(12, parent=1)
    tree.update(1.0)
    assert set(tree.members) == {10, 12}


def test_reused_pid_is_not_a_member(fake: FakeMachine) -> None:
    fake.process(10)
    fake.process(11, parent=10, started=2000)
    tree = ProcessTree(fake.proc, 10)
    tree.update(0.0)
    fake.process(11, parent=1, started=3000)
    tree.update(1.0)
    assert set(tree.members) == {10}


def test_no_scan_without_a_new_pid(fake: FakeMachine) -> None:
    fake.process(10)
    fake.newest_pid(10)
    tree = ProcessTree(fake.proc, 10)
    for second in range(3):
        tree.update(float(second))
    fake.process(11, parent=10)
    tree.update(3.0)
    assert set(tree.members) == {10}
    fake.newest_pid(11)
    tree.update(4.0)
    assert set(tree.members) == {10, 11}


def test_process_with_a_pid_before_it_is_visible_is_found(
    fake: FakeMachine,
) -> None:
    fake.process(10)
    fake.newest_pid(10)
    tree = ProcessTree(fake.proc, 10)
    for second in range(3):
        tree.update(float(second))
    fake.newest_pid(11)
    tree.update(3.0)
    fake.process(11, parent=10)
    tree.update(4.0)
    assert set(tree.members) == {10, 11}


def test_pids_that_start_again_from_low_numbers_are_found(fake: FakeMachine) -> None:
    fake.process(30_000)
    fake.newest_pid(32_000)
    tree = ProcessTree(fake.proc, 30_000)
    for second in range(3):
        tree.update(float(second))
    fake.process(300, parent=30_000)
    fake.newest_pid(300)
    tree.update(3.0)
    assert set(tree.members) == {300, 30_000}


def test_all_processes_are_scanned_once_a_minute(
    fake: FakeMachine,
) -> None:
    fake.process(10)
    fake.newest_pid(10)
    tree = ProcessTree(fake.proc, 10)
    for second in range(3):
        tree.update(float(second))
    fake.process(11, parent=10)
    tree.update(60.0)
    assert set(tree.members) == {10, 11}


def test_with_many_processes_children_are_found_through_threads(
    fake: FakeMachine,
) -> None:
    fake.process(10, threads=2)
    fake.write("proc/10/task/10/children", "")
    fake.write("proc/10/task/15/children", "")
    for pid in range(100, 200):
        fake.process(pid)
    tree = ProcessTree(fake.proc, 10)
    tree.update(0.0)
    fake.write("proc/10/task/15/children", "300 ")
    fake.process(300, parent=10)
    fake.write("proc/300/task/300/children", "301 ")
    fake.process(301, parent=300)
    fake.process(302, parent=300)  # not listed, so it shows that the list was used
    tree.update(1.0)
    assert set(tree.members) == {10, 300, 301}


def test_daemon_is_found_by_its_environment_variable(fake: FakeMachine) -> None:
    fake.process(10, started=1000)
    fake.process(20, started=2000)
    fake.write("proc/20/environ", "HOME=/\0SONDE_JOB=a\0")
    fake.process(21, started=2000)
    fake.write("proc/21/environ", "HOME=/\0SONDE_JOB=ab\0")
    tree = ProcessTree(fake.proc, 10, "SONDE_JOB=a")
    tree.update(0.0)
    assert set(tree.members) == {10, 20}


def test_names_may_contain_spaces_and_brackets(fake: FakeMachine) -> None:
    fake.process(10, name="a) b (c) 1 2", rss_pages=3)
    process = ProcessTree(fake.proc, 10).members[10]
    assert process.name == "a) b (c) 1 2"
    assert process.rss_bytes == 3 * os.sysconf("SC_PAGE_SIZE")


def test_all_members_are_read_beyond_the_limit_of_open_files(fake: FakeMachine) -> None:
    fake.process(10)
    for pid in range(1000, 1300):
        fake.process(pid, parent=10)
    tree = ProcessTree(fake.proc, 10)
    tree.update(0.0)
    for pid in range(1000, 1300):
        fake.process(pid, parent=10, ticks=5)
    tree.update(1.0)
    assert sum(member.ticks for member in tree.members.values()) == 1500
    tree.close()


def test_real_children_and_grandchildren_are_found_and_their_end_is_noticed() -> None:
    inner = "import sys; sys.stdin.read()"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", outer],
        stdin=subprocess.PIPE,
        env={**os.environ, "SONDE_TEST_MARK": "x"},
    ) as job:
        tree = ProcessTree(Path("/proc"), job.pid)

        def members() -> int:
            tree.update(0.0)
            return len(tree.members)

        def marked() -> set[int]:
            return {entry.pid for entry in processes_marked(Path("/proc"), "SONDE_TEST_MARK=x")}

        assert eventually(lambda: members() == 2)
        assert eventually(lambda: marked() == set(tree.members))
        assert job.stdin is not None
        job.stdin.close()
        job.wait()
        assert eventually(lambda: members() == 0)
        tree.close()


def test_multiprocessing_helpers_are_distinguished_from_their_children(tmp_path: Path) -> None:
    server = b"python\0-c\0from multiprocessing.forkserver import main"
    commands = {
        10: b"python\0-c\0from multiprocessing.resource_tracker import main;main(3)",
        11: server,
        12: server,  # forked by it: a worker
        13: b"sleep\x0060",
    }
    for pid, words in commands.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_bytes(words)
    parents = {10: 1, 11: 1, 12: 11, 13: 1}
    processes = [
        Process(pid, "python", "S", parent, 0, 0, 1, 0, 0) for pid, parent in parents.items()
    ]
    assert multiprocessing_helpers(tmp_path, processes) == {10, 11}
