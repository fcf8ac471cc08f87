"""The last lines of a command's output are recorded where reading them changes nothing."""

import subprocess
from pathlib import Path
from typing import Any

from tests.journeys.sonde_cli import COMMAND, Sonde, plain_environment
from tests.journeys.terminal import Terminal

SCRIPT = """
printf 'epoch 1\\repoch 2\\n'
for n in 1 2 3; do echo "out $n"; echo "err $n" >&2; done
echo "password=hunter2" >&2
exit 3
"""


def tail_of(sonde: Sonde, redirection: str, before: str = "") -> dict[str, Any]:
    """Run the script with this redirection; return what the status has of its output."""
    (sonde.folder / "script.sh").write_text(SCRIPT)
    command = f"{' '.join(COMMAND)} run --name job --no-rules sh script.sh"
    done = subprocess.run(
        ["sh", "-c", f"{before}{command} {redirection}"],
        cwd=sonde.folder,
        env=plain_environment(),
        capture_output=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 3
    tail = sonde.status()["output_tail"]
    assert isinstance(tail, dict)
    return tail


def test_output_in_files_is_recorded_and_secrets_are_masked(sonde: Sonde) -> None:
    tail = tail_of(sonde, "> out.txt 2> err.txt")
    assert tail["stdout"] == ["epoch 2", "out 1", "out 2", "out 3"]
    assert tail["stderr"][:3] == ["err 1", "err 2", "err 3"]
    assert tail["stderr"][3].startswith("password=")
    assert "hunter2" not in tail["stderr"][3]
    assert "password=hunter2" in (sonde.folder / "err.txt").read_text()


def test_one_file_for_both_streams_keeps_their_order(sonde: Sonde) -> None:
    tail = tail_of(sonde, "> log.txt 2>&1")
    order = ["epoch 2", "out 1", "err 1", "out 2", "err 2", "out 3", "err 3"]
    assert tail["stdout"][: len(order)] == order
    assert tail["stderr"] == []


def test_only_the_output_of_the_command_counts_in_a_file_that_is_appended_to(
    sonde: Sonde,
) -> None:
    tail = tail_of(sonde, ">> out.txt", before="echo earlier > out.txt; ")
    assert tail["stdout"][0] == "epoch 2"
    assert (sonde.folder / "out.txt").read_text().startswith("earlier\n")


def test_pipes_and_terminals_are_left_alone(sonde: Sonde, tmp_path: Path) -> None:
    assert tail_of(sonde, "") == {"stdout": [], "stderr": []}
    terminal = Terminal(sonde.folder)
    process = terminal.start((*COMMAND, "run", "--name", "tty", "--no-rules", "sh", "script.sh"))
    terminal.expect("err 3")
    assert process.wait(60) == 3
    assert sonde.status("tty")["output_tail"] == {"stdout": [], "stderr": []}
