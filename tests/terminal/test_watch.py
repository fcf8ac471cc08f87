import pytest
from rich.text import Text

from sonde.records.job import JobState
from sonde.records.notice import NoticeKind
from sonde.results.live import JobNow
from sonde.terminal.fleet import worst_first
from sonde.terminal.watch import frame
from tests.fakes.job import FakeJob
from tests.results.machines import beat, end, machine, poll, record


def text(now: JobNow, width: int = 80, height: int | None = None) -> str:
    return Text("\n").join(frame(now, width, height)).plain


def line_with(label: str, shown: str) -> str:
    return next(line for line in shown.splitlines() if line.strip().startswith(label))


@pytest.mark.parametrize("width", [20, 60, 80, 100, 132, 160, 250])
@pytest.mark.parametrize("height", [None, 3, 10, 24, 60])
@pytest.mark.parametrize("gpus", [0, 8, 16])
def test_a_frame_fits_any_terminal(width: int, height: int | None, gpus: int) -> None:
    now = poll(record("", machine(cores=128, gpus=gpus, busy_gpus=1, limit=32e9)))
    lines = frame(now, width, height)
    assert max(line.cell_len for line in lines) <= width
    assert height is None or len(lines) <= height
    assert not any("\n" in line.plain for line in lines)


def test_single_busy_gpu_is_not_averaged_away() -> None:
    shown = text(poll(record("", machine(gpus=8, busy_gpus=1))))
    assert "1 of 8 busy" in shown
    assert "97%" in line_with("gpu0", shown)
    assert " 0%" in line_with("gpu7", shown)
    assert "12 %" not in shown


def test_values_have_units() -> None:
    shown = text(poll(record("", machine(gpus=1, busy_gpus=1))))
    assert "16.0 of 64 GB" in line_with("Memory", shown)
    assert "40.0 of 80 GB" in line_with("gpu0", shown)
    assert "400 W" in line_with("gpu0", shown)
    assert "61 °C" in line_with("gpu0", shown)
    assert "read     2 MB/s" in line_with("Disk", shown)
    assert "in       2 kB/s" in line_with("Network", shown)
    assert "1.7 of 4 cores, 3 processes" in line_with("Job CPU", shown)
    assert "/ 8 GB (4.0%)" in line_with("Free", shown)
    assert "CPU-seconds" in shown


def test_unknown_value_is_a_dash() -> None:
    job = FakeJob()
    job.record({key: [float("nan")] * 8 for key in machine(cores=2, gpus=2)})
    shown = text(poll(job))
    assert "nan" not in shown.lower()
    assert "–" in line_with("CPU", shown)
    assert "–" in line_with("gpu1", shown)
    assert "None" not in shown


def test_job_without_samples_has_a_frame() -> None:
    shown = text(poll(FakeJob()))
    assert "running" in shown
    assert "Waiting for the first samples" in shown


def test_job_without_nodes_has_a_frame() -> None:
    job = FakeJob()
    job.backend.delete(job.stored("start.json"))
    assert "No node has reported yet" in text(poll(job), 80, 24)


def test_memory_limit_of_the_control_group_has_a_bar() -> None:
    assert "4.0 of 8 GB limit" in text(poll(record("", machine(limit=8e9))))


def test_throttled_gpu_shows_the_reason() -> None:
    values = machine(gpus=2, busy_gpus=2) | {"gpu.throttled_thermal/gpu1": 1.0}
    assert "gpu1 throttled by heat" in text(poll(record("", values)))


def test_the_busiest_cores_are_named() -> None:
    values = machine(cores=16) | {"cpu.utilization_percent/cpu11": 99.0}
    assert "busiest cpu11 99%" in text(poll(record("", values)))


def test_lost_data_and_disabled_collectors_are_shown() -> None:
    job = record("", machine())
    job.writer.notice(NoticeKind.LOST, "system samples", "disk full")
    job.writer.notice(NoticeKind.SWITCHED_OFF, "collector disk", "OSError: gone")
    job.flush()
    shown = text(poll(job))
    assert "lost: system samples: disk full" in shown
    assert "not recorded: collector disk: OSError: gone" in shown


def test_old_values_are_marked() -> None:
    job = record("", machine())
    job.clock.advance(60)
    beat(job, "gpu-box")
    assert "No samples for 1 min" in text(poll(job))


def test_finished_job_shows_its_reason_in_the_second_line() -> None:
    job = record("", machine())
    end(job, JobState.FAILED, "killed by the kernel: out of memory", 137)
    shown = text(poll(job)).splitlines()
    assert shown[1].endswith("failed after 20 s: killed by the kernel: out of memory")
    assert "q to quit" not in shown[-1]


def test_only_a_live_view_shows_how_to_quit() -> None:
    now = poll(record("", machine()))
    assert "q to quit" in text(now, 80, 24)
    assert "q to quit" not in text(now, 80)


def fleet(uri: str) -> FakeJob:
    record(uri, machine(gpus=8, busy_gpus=8), "well")
    record(uri, machine(gpus=8, busy_gpus=3), "slow")
    dead = record(uri, machine(gpus=8, busy_gpus=8), "dead")
    end(dead, JobState.FAILED, "exit code 1")
    return record(uri, machine(gpus=8, busy_gpus=8) | {"memory.used_bytes": 63e9}, "full")


def test_many_nodes_are_lines_with_the_worst_first() -> None:
    now = poll(fleet("memory://fleet-in-order/job"))
    assert [node.node for node in worst_first(now.nodes)] == ["dead", "full", "slow", "well"]
    shown = text(now).splitlines()
    rows = [line for line in shown if line.startswith(("dead ", "full ", "slow ", "well "))]
    assert [row.split()[0] for row in rows[:4]] == ["dead", "full", "slow", "well"]
    assert "3/8" in rows[2]
    assert "3 running, 1 failed" in "\n".join(shown)
    assert "dead failed: exit code 1" in shown


def test_nodes_that_do_not_fit_are_counted() -> None:
    for number in range(30):
        job = record("memory://fleet-too-tall/job", machine(), f"node-{number:02d}")
    shown = frame(poll(job), 80, 24)
    assert len(shown) <= 24
    assert any("more; to show one: sonde watch JOB --node NAME" in line.plain for line in shown)


def test_small_usage_is_not_zero_and_thread_is_singular() -> None:
    values = machine() | {"process_tree.cpu_percent": 4.0, "process_tree.threads": 1.0}
    shown = text(poll(record("", values)))
    assert "0.04 of 4 cores" in line_with("Job CPU", shown)
    assert line_with("Job mem", shown).count("1 thread ") == 1


def test_recorded_text_cannot_control_the_terminal() -> None:
    job = record("", machine())
    job.writer.notice(NoticeKind.LOST, "samples of \x1b[2Jevil", "one\ntwo")
    job.flush()
    lines = frame(poll(job), 100, 40)
    assert not any(set("\x1b\n") & set(line.plain) for line in lines)
    assert any(r"\x1b[2Jevil: one\ntwo" in line.plain for line in lines)
