"""All processes started by the command belong to the job."""

import os
import signal

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import PYTHON, Sonde, is_alive

DAEMON = """
import os, pathlib, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for stream in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        pathlib.Path("daemon").write_text(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
os.wait()
while not pathlib.Path("daemon").exists() or not pathlib.Path("daemon").read_text():
    time.sleep(0.01)
"""
WORKERS = """
import multiprocessing, pathlib, time
def work():
    while not pathlib.Path("end").exists():
        time.sleep(0.02)
if __name__ == "__main__":
    workers = [multiprocessing.get_context("fork").Process(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
"""


def test_a_daemon_that_outlives_its_command_is_named(sonde: Sonde) -> None:
    done = sonde.run("run", "--name", "job", PYTHON, "-c", DAEMON)
    daemon = int((sonde.folder / "daemon").read_text())
    assert done.returncode == 0
    assert is_alive(daemon)
    remaining = sonde.status()["exit"]["left_running"]
    assert [entry.split()[0] for entry in remaining] == [str(daemon)]
    assert f"Still running: {daemon} ".encode() in done.stderr
    os.kill(daemon, signal.SIGKILL)


def test_workers_are_counted_with_the_command(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "--interval", "100ms", PYTHON, "-c", WORKERS)
    assert eventually(lambda: max(sonde.samples("process_tree.processes")[1], default=0) >= 5)
    (sonde.folder / "end").touch()
    assert launcher.wait(120) == 0
    assert max(sonde.samples("process_tree.processes")[1]) == 5
    assert max(sonde.samples("process_tree.rss_bytes")[1]) > 1e6


def test_neither_the_launcher_nor_the_watchdog_is_counted(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "--interval", "100ms", "sleep", "600")
    assert eventually(lambda: len(sonde.samples("process_tree.processes")[1]) >= 2)
    os.kill(launcher.pid, signal.SIGTERM)
    launcher.wait(120)
    assert max(sonde.samples("process_tree.processes")[1]) == 1
