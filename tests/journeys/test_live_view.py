"""The live view of a real job on a real terminal."""

import os
import re

import pytest

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import COMMAND, Sonde
from tests.journeys.terminal import Terminal

_ALTERNATE, _BACK = "\x1b[?1049h", "\x1b[?1049l"


@pytest.mark.parametrize("keys", ["q", "\x03"])
def test_a_key_closes_the_view_and_the_job_continues(
    sonde: Sonde, terminal: Terminal, keys: str
) -> None:
    sonde.start_reporter()
    terminal.start([*COMMAND, "watch", "job"])
    terminal.expect(_ALTERNATE)
    terminal.expect("running")
    terminal.expect("q to quit")
    terminal.type(keys)
    terminal.expect(_BACK)
    terminal.expect("job has been running")
    assert terminal.wait() == 0
    assert sonde.runs()


def test_the_view_ends_with_the_job_and_shows_the_verdict(sonde: Sonde, terminal: Terminal) -> None:
    sonde.start_reporter()
    terminal.start([*COMMAND, "watch", "job"])
    terminal.expect("q to quit")
    (sonde.folder / "end").touch()
    terminal.expect(_BACK)
    terminal.expect("job failed after")
    assert terminal.wait() == 0


def test_no_color_disables_colors(
    sonde: Sonde, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    sonde.start_reporter()
    terminal.start([*COMMAND, "watch", "job", "--once"])
    assert terminal.wait() == 0
    assert "running" in terminal.shown
    assert "\x1b[3" not in terminal.shown


def test_in_a_pipe_one_frame_is_printed(sonde: Sonde) -> None:
    sonde.start_reporter()
    assert eventually(lambda: bool(sonde.samples("cpu.utilization_percent")[0]))
    done = sonde.run("watch", "job")
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert done.stdout.count(b"Memory") == 1


def test_an_output_without_block_characters_gets_question_marks(
    finished: Sonde,
) -> None:
    done = finished.run("watch", "job", env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")


def test_parquet_is_not_written_to_a_terminal(finished: Sonde, terminal: Terminal) -> None:
    assert finished.state() == "completed"
    terminal.start([*COMMAND, "export", "job", "--format", "parquet"])
    terminal.expect("Specify a file with -o FILE")
    assert terminal.wait() == 2


def test_a_closed_pipe_is_not_an_error(finished: Sonde) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = finished.run("export", "job", "--format", "prometheus", stdout=write, stderr=-1)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_demo_shows_a_training_and_its_planted_fault(sonde: Sonde) -> None:
    done = sonde.run("demo", "--seconds", "5", "--store", "demos")
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode()
    assert "demo completed" in shown
    assert re.search(r"60 train; .* per train step", shown)
    assert "l2_norm of gradient/body.0.weight" in shown
    assert "Dashboard: http://127.0.0.1:" in shown
    assert "dead layer: relu_output_0: all 768 units always output zero" in shown
    assert "forgotten layer: head.bias, head.weight: not in any optimizer" in shown
    slow = re.search(r"slow data loader: steps (\d+) to (\d+) waited", shown)
    assert slow is not None
    # 15 to 26 are planted; on a busy machine the number varies
    assert int(slow[1]) <= 26
    assert int(slow[2]) >= 15
    assert "learning rate spike: 2 instead of 0.05 from step 33" in shown
    assert "ParameterNotUpdated: head.weight and 1 more" in shown
    assert (sonde.folder / "demos" / "demo" / "report" / "report.html").is_file()


def test_without_pytorch_the_demo_says_so_and_shows_the_slow_loader(sonde: Sonde) -> None:
    broken = sonde.folder / "packages"
    broken.mkdir()
    (broken / "torch.py").write_text("raise ImportError('libtorch.so is missing')")
    done = sonde.run(
        *("demo", "--seconds", "5", "--store", "demos"), env={"PYTHONPATH": str(broken)}
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode()
    assert "PyTorch cannot be imported" in shown
    assert "slow data loader, 1 s to 2 s" in shown
