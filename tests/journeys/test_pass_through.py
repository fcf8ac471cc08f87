"""Input, output, descriptors, folder and environment of the command are unchanged."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.journeys.sonde_cli import COMMAND, PYTHON, Sonde, plain_environment

SHOW_SURROUNDINGS = """
import json, os
names = sorted(int(name) for name in os.listdir("/proc/self/fd"))
fields = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines())
print(json.dumps({
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "umask": os.umask(0),
    "descriptors": names,
    "group": os.getpgrp(),
    "session": os.getsid(0),
    "signals": {name: fields[name] for name in ("SigIgn", "SigBlk")},
}))
"""
SHOW_SIGNALS = "grep -E '^Sig(Ign|Blk)' /proc/self/status"


def shell(sonde: Sonde, line: str) -> "subprocess.CompletedProcess[bytes]":
    """Run a shell line in which `sonde` is the command under test."""
    words = " ".join(COMMAND)
    return subprocess.run(
        ["bash", "-c", f'sonde() {{ {words} "$@"; }}; {line}'],
        cwd=sonde.folder,
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=150,
        check=False,
    )


def test_binary_data_passes_byte_for_byte(sonde: Sonde) -> None:
    data = os.urandom(8_000_000)
    done = sonde.run("run", "--name", "job", "cat", input=data)
    assert done.returncode == 0
    assert done.stdout == data


def test_stdout_and_stderr_stay_separate_and_sonde_writes_only_to_stderr(sonde: Sonde) -> None:
    done = sonde.run("run", "--name", "job", "sh", "-c", r"printf 'a\000b'; printf 'c\377' >&2")
    assert done.stdout == b"a\0b"
    assert b"c\xff" in done.stderr
    ours = done.stderr.replace(b"c\xff", b"")
    assert ours.startswith(b"sonde: Recording job")
    assert all(line.startswith(b"sonde: ") for line in ours.splitlines())


def test_quiet_prints_nothing(sonde: Sonde) -> None:
    done = sonde.run("run", "--quiet", "--name", "job", "sh", "-c", "echo out; echo err >&2")
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")


def test_a_closed_pipe_ends_the_command_with_sigpipe_as_without_sonde(sonde: Sonde) -> None:
    plain = shell(sonde, "yes | head -1; echo ${PIPESTATUS[0]}")
    watched = shell(sonde, "sonde run --name job yes | head -1; echo ${PIPESTATUS[0]}")
    assert watched.stdout == plain.stdout == b"y\n141\n"
    assert sonde.status()["exit"]["signal"] == "SIGPIPE"


def test_an_unread_summary_does_not_change_the_exit_code(sonde: Sonde) -> None:
    line = "sonde run --name job sh -c 'sleep 0.2; exit 3' 2>&1 | true; echo ${PIPESTATUS[0]}"
    assert shell(sonde, line).stdout == b"3\n"
    assert sonde.status()["exit_code"] == 3


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors_are_harmless(sonde: Sonde, closed: str) -> None:
    line = f"sonde run --name job sh -c 'exit 3' {closed}; echo $? > code"
    shell(sonde, line)
    assert (sonde.folder / "code").read_text() == "3\n"
    assert sonde.status()["exit_code"] == 3


def test_open_descriptors_stay_open(sonde: Sonde) -> None:
    line = "sonde run --name job sh -c 'cat <&7; echo kept >&9' 7< <(echo given) 9> kept.txt"
    assert shell(sonde, line).stdout == b"given\n"
    assert (sonde.folder / "kept.txt").read_text() == "kept\n"


def test_the_command_has_the_same_environment_as_without_sonde(sonde: Sonde) -> None:
    line = f"umask 027; export COLOR=always MODE=$'\\xff'; {{}} {PYTHON} show.py 7</dev/null"
    (sonde.folder / "show.py").write_text(SHOW_SURROUNDINGS)
    plain = json.loads(shell(sonde, line.format("")).stdout)
    watched = json.loads(shell(sonde, line.format("sonde run --name job")).stdout)
    ours = {name for name in watched["environment"] if name.startswith("SONDE_")}
    assert {"SONDE_JOB", "SONDE_JOB_URI", "SONDE_NODE", "SONDE_ATTEMPT"} <= ours
    for document in (plain, watched):
        for name in (*ours, "_", "PYTHONPATH"):
            document["environment"].pop(name, None)
    assert watched == plain


def test_the_job_uri_is_an_absolute_path(sonde: Sonde) -> None:
    done = sonde.run("run", "--quiet", "--name", "job", "sh", "-c", 'echo "$SONDE_JOB_URI"')
    assert Path(done.stdout.decode().strip()) == sonde.job_folder("job")


def test_signal_settings_of_the_caller_are_passed_on(sonde: Sonde) -> None:
    plain = shell(sonde, SHOW_SIGNALS)
    watched = shell(sonde, f'sonde run --name job sh -c "{SHOW_SIGNALS}"')
    assert watched.stdout == plain.stdout


def test_signals_ignored_by_the_caller_stay_ignored(sonde: Sonde) -> None:
    trap = "trap '' HUP INT QUIT TERM TSTP USR1;"
    plain = shell(sonde, f'{trap} sh -c "{SHOW_SIGNALS}"')
    watched = shell(sonde, f'{trap} sonde run --name job sh -c "{SHOW_SIGNALS}"')
    assert watched.stdout == plain.stdout
    assert int(watched.stdout.split()[1 + watched.stdout.split().index(b"SigIgn:")], 16) & (
        1 << (signal.SIGHUP - 1)
    )


def test_under_nohup_a_hang_up_ends_neither_the_command_nor_sonde(sonde: Sonde) -> None:
    words = " ".join(COMMAND)
    line = f"nohup {words} run --name job sh -c 'kill -HUP $PPID; kill -HUP $$; exit 4'; echo $?"
    assert shell(sonde, line).stdout == b"4\n"
    assert sonde.status()["exit_code"] == 4


def test_options_after_the_command_belong_to_the_command(sonde: Sonde) -> None:
    words = ("echo", "--name", "x", "--", "--quiet", "-h", "--help")
    done = sonde.run("run", "--quiet", "--name", "job", *words)
    assert done.stdout.decode().split() == list(words[1:])
    done = sonde.run("run", "--quiet", "--name", "again", "--", *words)
    assert done.stdout.decode().split() == list(words[1:])


def test_arguments_that_are_not_valid_utf8_are_passed_on_and_shown(sonde: Sonde) -> None:
    line = "sonde run --name job printf %s $'a\\xffb'; sonde status job; sonde status job --json"
    done = shell(sonde, line)
    assert done.stdout.startswith(b"a\xffb")
    assert b"Traceback" not in done.stderr
    assert sonde.status()["runs"][0]["command"] == ["printf", "%s", "a\ufffdb"]


def test_a_command_without_a_locale_stays_without_one(tmp_path: Path) -> None:
    bare = {"PATH": os.environ["PATH"]}
    words = [*COMMAND, "run", "--quiet", "--", "env"]
    for variables, ours in ((bare, {"PYTHONPATH"}), ({**bare, "SONDE_DISABLE": "1"}, set())):
        done = subprocess.run(
            words, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True
        )
        names = {line.partition("=")[0] for line in done.stdout.splitlines()}
        assert {name for name in names if not name.startswith("SONDE_")} == {"PATH", *ours}
