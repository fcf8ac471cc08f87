import pytest

from sonde.read.status import status_document
from sonde.records.job import JobState
from sonde.show.terminal import jobs_lines, print_lines, resource_lines, status_lines, verdict
from tests.fakes.job import FakeJob
from tests.show.machines import end, look, machine, record


def document(job: FakeJob) -> dict[str, object]:
    return status_document(job.job().facts, job.clock.now_ns())


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


def test_why_it_died_comes_first() -> None:
    job = record("", machine())
    end(job, JobState.FAILED, "killed by the kernel: out of memory", 137)
    first = status_lines(document(job))[0]
    assert first.plain.endswith("failed after 20.0 s: killed by the kernel: out of memory")
    assert first.style == "bold red"


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (JobState.COMPLETED, "completed after 20.0 s."),
        (JobState.STOPPED, "was stopped after 20.0 s."),
        (JobState.FAILED, "failed after 20.0 s."),
    ],
)
def test_the_verdict_is_a_sentence(state: JobState, said: str) -> None:
    job = record("", machine())
    end(job, state, None)
    assert verdict(document(job)) == f"job {said}"


def test_a_lost_job_says_what_that_means() -> None:
    job = record("", machine())
    now = look(job, later_seconds=3600)
    assert "its launcher vanished" in verdict(now.status)


def test_a_running_job_is_said_to_run() -> None:
    assert verdict(document(record("", machine()))) == "job has been running for 20.0 s."


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
    assert lines[2].plain.split()[3:] == ["0", "B", "1.0", "GB", "2.0", "GB", "3.0", "GB"]
    assert lines[3].plain.endswith("–")


def test_the_table_of_jobs_marks_the_state_and_says_why() -> None:
    job = record("", machine())
    end(job, JobState.FAILED, "exit code 3\nand more", 3)
    head, line = jobs_lines([document(job)])
    assert head.plain.split()[:3] == ["job", "state", "started"]
    assert line.plain.endswith("exit code 3")
    [span] = line.spans
    assert (line.plain[span.start : span.end], span.style) == ("failed", "bold red")


def test_a_pipe_gets_no_colours_and_no_wrapped_lines(capsys: pytest.CaptureFixture[str]) -> None:
    job = record("", machine())
    end(job, JobState.FAILED, "word " * 60, 3)
    print_lines(status_lines(document(job)))
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert len(printed.splitlines()[0]) > 300
