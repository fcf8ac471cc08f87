"""On a terminal: keys, size, job control and interactive programs are unchanged."""

import os
import signal

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import COMMAND, PYTHON, Sonde, process_state
from tests.journeys.terminal import SHELL, Terminal

SHOW_TERMINAL = """
import os
print("tty", [os.isatty(n) for n in (0, 1, 2)], os.get_terminal_size(), os.environ["TERM"], end=".")
"""
INTERRUPTIBLE = """
import sys, time
for attempt in range(2):
    try:
        print("begun", flush=True)
        time.sleep(600)
    except KeyboardInterrupt:
        print("interrupted", attempt, flush=True)
        if sys.argv[1] == str(attempt):
            sys.exit(40 + attempt)
"""
RUN = f"{' '.join(COMMAND)} run --quiet --name"


def words(name: str, *command: str) -> list[str]:
    return [*COMMAND, "run", "--quiet", "--name", name, *command]


def test_the_command_sees_the_terminal(sonde: Sonde, terminal: Terminal) -> None:
    terminal.start(words("job", PYTHON, "-c", SHOW_TERMINAL))
    assert terminal.wait() == 0
    size = "os.terminal_size(columns=101, lines=33)"
    assert terminal.shown == f"tty [True, True, True] {size} xterm."
    assert sonde.status()["state"] == "completed"


def test_control_c_is_for_the_command_to_handle(sonde: Sonde, terminal: Terminal) -> None:
    terminal.start(words("job", PYTHON, "-c", INTERRUPTIBLE, "0"))
    terminal.expect("begun")
    terminal.type("\x03")
    terminal.expect("interrupted 0")
    assert terminal.wait() == 40
    assert sonde.status()["exit"]["message"] == "exit code 40"
    assert "Traceback" not in terminal.shown


def test_two_control_c_arrive_twice(sonde: Sonde, terminal: Terminal) -> None:
    terminal.start(words("job", PYTHON, "-c", INTERRUPTIBLE, "1"))
    terminal.expect("begun")
    terminal.type("\x03")
    terminal.expect("begun")
    terminal.type("\x03")
    terminal.expect("interrupted 1")
    assert terminal.wait() == 41
    assert sonde.status()["exit_code"] == 41


def test_control_c_kills_a_command_without_a_handler(sonde: Sonde, terminal: Terminal) -> None:
    terminal.start(words("job", "sh", "-c", "echo begun; exec sleep 600"))
    terminal.expect("begun")
    terminal.type("\x03")
    assert terminal.wait() == 130
    assert sonde.status()["exit"]["signal"] == "SIGINT"


def test_control_backslash_quits(sonde: Sonde, terminal: Terminal) -> None:
    terminal.start(words("job", "sh", "-c", "ulimit -c 0; echo begun; exec sleep 600"))
    terminal.expect("begun")
    terminal.type("\x1c")
    assert terminal.wait() == 131
    assert sonde.status()["exit"]["signal"] == "SIGQUIT"


def test_a_shell_suspends_and_continues_the_job(sonde: Sonde, terminal: Terminal) -> None:
    terminal.start_shell()
    terminal.type(f"{RUN} job sh -c 'echo be\"\"gun; read line; echo got:$line; exit 6'\n")
    terminal.expect("begun")
    command = sonde.command_pid()
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.expect_prompt()
    assert process_state(command) == "T"
    assert "Stopped" in terminal.enter("jobs")
    terminal.type("fg\n")
    assert eventually(lambda: process_state(command) != "T")
    terminal.type("more\n")
    terminal.expect("got:more")
    terminal.expect_prompt()
    assert "code 6" in terminal.enter("echo code $?")


def test_a_command_that_ignores_control_z_keeps_running(sonde: Sonde, terminal: Terminal) -> None:
    launcher = terminal.start(
        words("job", "sh", "-c", "trap '' TSTP; echo begun; read line; exit 5")
    )
    terminal.expect("begun")
    command = sonde.command_pid()
    terminal.type("\x1a")
    terminal.expect("^Z")
    assert "T" not in (process_state(launcher.pid), process_state(command))
    terminal.type("\n")
    assert terminal.wait() == 5


def test_a_job_in_the_background_ends_by_itself(sonde: Sonde, terminal: Terminal) -> None:
    terminal.start_shell()
    terminal.enter(f"{RUN} job sh -c 'sleep 0.2; exit 3' &")
    assert eventually(lambda: sonde.state() == "failed")
    assert "code 3" in terminal.enter('wait $!; echo "code $?"')


def test_a_background_job_that_reads_the_terminal_waits_for_fg(
    sonde: Sonde, terminal: Terminal
) -> None:
    terminal.start_shell()
    terminal.enter(f"{RUN} job sh -c 'read line; echo got:$line' &")
    command = sonde.command_pid()
    assert eventually(lambda: "Stopped" in terminal.enter("jobs"))
    terminal.type("fg\n")
    assert eventually(lambda: process_state(command) != "T")
    terminal.type("now\n")
    terminal.expect("got:now")


def test_python_is_interactive_under_sonde_run(sonde: Sonde, terminal: Terminal) -> None:
    terminal.start(words("job", PYTHON, "-q", "-i"))
    terminal.expect(">>> ")
    terminal.type("6 * 7\n")
    terminal.expect("42")
    terminal.type("import time; time.sleep(600)\n")
    terminal.expect("sleep(600)")
    assert eventually(lambda: process_state(sonde.command_pid()) == "S")
    terminal.type("\x03")
    terminal.expect("KeyboardInterrupt")
    terminal.type("raise SystemExit(9)\n")
    assert terminal.wait() == 9
    assert sonde.status()["exit_code"] == 9


def test_a_shell_under_sonde_run_has_job_control(sonde: Sonde, terminal: Terminal) -> None:
    terminal.start(words("job", *SHELL))
    terminal.expect_prompt()
    terminal.type("sh -c 'echo be\"\"gun; exec sleep 600'\n")
    terminal.expect("begun")
    terminal.type("\x1a")
    terminal.expect("Stopped")
    assert "no job control" not in terminal.shown
    terminal.expect_prompt()
    terminal.type("kill %1; exit 8\n")
    terminal.expect("exit 8")
    terminal.type("exit 8\n")  # the first exit is refused while jobs are stopped
    assert terminal.wait() == 8


def test_closing_the_terminal_hangs_up_the_command(sonde: Sonde) -> None:
    terminal = Terminal(sonde.folder)
    terminal.start(words("job", "sh", "-c", "echo begun; exec sleep 600"))
    terminal.expect("begun")
    command = sonde.command_pid()
    terminal.close()
    assert eventually(lambda: process_state(command) in ("", "Z"))


def test_the_watchdog_does_not_end_a_suspended_launcher(sonde: Sonde, terminal: Terminal) -> None:
    launcher = terminal.start(words("job", "sh", "-c", "echo begun; exec sleep 600"))
    terminal.expect("begun")
    command = sonde.command_pid()
    os.killpg(launcher.pid, signal.SIGSTOP)
    assert eventually(lambda: process_state(launcher.pid) == "T")
    os.kill(launcher.pid, signal.SIGCONT)
    os.kill(command, signal.SIGKILL)
    assert terminal.wait() == 137
