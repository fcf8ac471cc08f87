from collections.abc import Mapping
from typing import Any

import pytest
from rich.text import Text

from sonde.drawing.printable import escape_text
from sonde.read.status import status_document
from sonde.records.job import JobState
from sonde.results.verdict import verdict
from sonde.terminal.jobs import jobs_lines
from sonde.terminal.output import print_lines, readable, wrapped
from sonde.terminal.resources import resource_lines
from sonde.terminal.status import status_lines
from tests.fakes.job import FakeJob
from tests.results.machines import end, machine, poll, record


def document(job: FakeJob) -> dict[str, Any]:
    return dict(status_document(job.job().facts, job.clock.now_ns()))


def listed(status: Mapping[str, Any]) -> dict[str, Any]:
    return {**status, "findings": None}


def row(metric: str, device: str, unit: str, maximum: float | None) -> dict[str, object]:
    return {
        "node": "a",
        "metric": metric,
        "device": device,
        "unit": unit,
        "minimum": 0.0,
        "p50": 1e9,
        "p95": 2e9,
        "maximum": maximum,
    }


def test_reason_of_failure_comes_first() -> None:
    job = record("", machine())
    end(job, JobState.FAILED, "killed by the kernel: out of memory", 137)
    first = status_lines(document(job))[0]
    assert first.plain.endswith("failed after 20 s: killed by the kernel: out of memory")
    assert first.style == "bold red"


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (JobState.COMPLETED, "completed after 20 s."),
        (JobState.STOPPED, "was stopped after 20 s."),
        (JobState.FAILED, "failed after 20 s."),
    ],
)
def test_the_verdict_is_a_sentence(state: JobState, message: str) -> None:
    job = record("", machine())
    end(job, state, None)
    assert verdict(document(job)) == f"job {message}"


def test_lost_job_is_explained() -> None:
    job = record("", machine())
    now = poll(job, later_seconds=3600)
    assert "the launcher disappeared" in verdict(now.status)


def test_running_job_is_reported_with_its_duration() -> None:
    assert verdict(document(record("", machine()))) == "job has been running for 20 s."


def test_resources_have_a_unit_in_every_cell_and_a_line_for_every_device() -> None:
    lines = resource_lines(
        [
            row("gpu.memory_used_bytes", "gpu0", "bytes", 3e9),
            row("gpu.memory_used_bytes", "gpu1", "bytes", None),
            row("disk.read_bytes_per_second", "sda", "bytes_per_second", 0.0),
        ]
    )
    assert [line.plain.split("  ")[0] for line in lines] == [
        "",
        "on a",
        "GPU memory gpu0",
        "GPU memory gpu1",
    ]
    assert lines[2].plain.split()[3:] == ["0", "B", "1", "GB", "2", "GB", "3", "GB"]
    assert lines[3].plain.endswith("–")


def test_table_of_jobs_shows_state_and_reason() -> None:
    job = record("", machine())
    end(job, JobState.FAILED, "exit code 3\nand more", 3)
    head, line = jobs_lines([listed(document(job))])
    assert head.plain.split()[:3] == ["job", "state", "started"]
    assert line.plain.endswith("exit code 3")
    span = line.spans[0]
    assert (line.plain[span.start : span.end], span.style) == ("failed", "bold red")


def test_pipe_gets_no_colors_and_no_wrapped_lines(capsys: pytest.CaptureFixture[str]) -> None:
    job = record("", machine())
    end(job, JobState.FAILED, "word " * 60, 3)
    print_lines(status_lines(document(job)))
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert len(printed.splitlines()[0]) > 300


def test_recorded_text_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    job = record("", machine())
    end(job, JobState.FAILED, "evil\x1b[2J\nname\x9b", 3)
    status = document(job)
    status["runs"][-1]["command"] = ["python", "a b", "\x1b]0;owned\x07", "one\ntwo"]
    status["exit"]["left_running"] = ["4711 \x1b[31mevil\n"]
    print_lines(status_lines(status))
    printed = capsys.readouterr().out
    assert r"4711 evil\n" in printed
    assert not {"\x1b", "\x9b", "\x07"} & set(printed)
    assert r"evil\x1b[2J\nname\x9b" in printed.splitlines()[0]
    [command] = [line for line in printed.splitlines() if line.startswith("command")]
    assert "python 'a b'" in command
    assert r"'one\ntwo'" in command


def test_a_readable_line_keeps_its_styles_in_place() -> None:
    line = readable(Text.assemble("a\x1b", ("b\nc", "red"), "d"))
    [span] = line.spans
    assert line.plain[span.start : span.end] == r"b\nc"


def test_very_long_command_is_truncated() -> None:
    status = document(record("", machine()))
    status["runs"][-1]["command"] = ["x"] * 5000
    [line] = [
        status_line.plain
        for status_line in status_lines(status)
        if status_line.plain.startswith("command")
    ]
    assert len(line) < 530
    assert line.endswith("…")


def test_lines_wrap_at_words_with_indentation() -> None:
    pieces = wrapped(Text("note           one two three four five six seven eight"), 30)
    assert [piece.plain for piece in pieces] == [
        "note           one two three",
        "               four five six",
        "               seven eight",
    ]
    long = "/a/path/that/is/much/longer/than/the/terminal/is/wide"
    assert [piece.plain for piece in wrapped(Text(f"see {long} now"), 20)] == ["see", long, "now"]


def test_table_of_jobs_is_truncated_to_the_terminal() -> None:
    job = record("", machine())
    end(job, JobState.FAILED, "word " * 60, 3)
    assert max(line.cell_len for line in jobs_lines([listed(document(job))], 80)) == 80
    assert max(line.cell_len for line in jobs_lines([listed(document(job))])) > 300


def test_table_of_jobs_explains_a_lost_job() -> None:
    status = poll(record("", machine()), later_seconds=3600).status
    assert "the launcher disappeared" in jobs_lines([listed(status)])[1].plain


def test_error_with_color_codes_is_readable() -> None:
    colored = "KeyError: \x1b[1m\x1b[31m'label'\x1b[0m is missing"
    assert escape_text(colored) == "KeyError: 'label' is missing"
    line = readable(Text.assemble(("failed: ", "bold"), (colored, "red")))
    assert line.plain == "failed: KeyError: 'label' is missing"
    assert [(span.start, span.end) for span in line.spans] == [(0, 8), (8, len(line.plain))]


def test_the_failing_line_comes_first_and_is_marked_in_the_traceback() -> None:
    status = document(record("", machine()))
    traceback = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/train.py", line 7, in load\n'
        "    return parse(text)\n"
        '  File "/x/site-packages/torch/parse.py", line 1, in parse\n'
        "    raise ValueError\n"
        "ValueError"
    )
    failed_at = {"file": "/home/me/train.py", "line": 7, "function": "load", "row": 1}
    failed_at["code"] = "return parse(text)"
    tail = {"stdout": ["epoch 3"], "stderr": ["ValueError"]}
    exit_ = {"message": "ValueError", "traceback": traceback, "failed_at": failed_at}
    status |= {"state": "failed", "exit": exit_, "output_tail": tail}
    lines = [line.plain for line in status_lines(status)]
    assert lines[1] == "at /home/me/train.py:7, in load"
    assert lines[2].strip() == "return parse(text)"
    marked = [line for line in lines if line.startswith(">")]
    assert marked == ['> File "/home/me/train.py", line 7, in load', ">   return parse(text)"]
    start = lines.index("last lines of stdout")
    assert lines[start + 1] == "  epoch 3"
    assert "last lines of stderr" not in lines  # the traceback ends with the same lines


def test_the_last_lines_of_any_command_are_shown() -> None:
    status = document(record("", machine()))
    tail = {"stdout": [], "stderr": [f"line {number}" for number in range(40)]}
    status |= {"state": "failed", "exit": {"message": "exit code 3"}, "output_tail": tail}
    lines = [line.plain for line in status_lines(status)]
    start = lines.index("last lines of stderr")
    assert lines[start + 1] == "  line 28"
    assert "  line 39" in lines
    completed = status_lines({**status, "state": "completed"})
    assert "last lines of stderr" not in [line.plain for line in completed]
