"""The table of jobs in terminals of different widths and in a pipe."""

from typing import Any

from sonde.terminal.jobs import jobs_lines

LONG = (
    "resnet50-imagenet-lr-0.05-bs-256-wd-1e-4-augmented-with-everything-and-labels-smoothed-seed-17"
)


def row(name: str, **values: Any) -> dict[str, Any]:
    job = {
        "job": name,
        "state": "completed",
        "start_time": "2026-11-15T08:00:00Z",
        "duration_seconds": 6660.0,
        "nodes": ["a"],
        "exit": None,
        "findings": {},
    }
    return {**job, **values}


FAILED = {"state": "failed", "exit": {"message": "exit code 3", "traceback": None}}


def test_a_long_name_leaves_room_for_all_columns() -> None:
    lines = jobs_lines([row("short"), row(LONG, **FAILED)], 80)
    assert max(line.cell_len for line in lines) <= 80
    titles = lines[0].plain.split()
    assert titles == ["job", "state", "started", "duration", "findings"]
    name, state, _, _, *rest = lines[2].plain.split()
    assert (state, rest) == ("failed", ["1", "h", "51", "min", "none"])
    start, end = name.split("…")
    assert LONG.startswith(start)
    assert LONG.endswith(end)
    assert len(end) >= 10
    assert lines[3].plain == "  exit code 3"


def test_names_are_complete_in_a_pipe() -> None:
    lines = jobs_lines([row("short"), row(LONG, **FAILED)])
    assert len(lines) == 3
    assert lines[2].plain.startswith(LONG)
    assert lines[2].plain.endswith("exit code 3")


def test_reasons_are_a_column_where_there_is_room() -> None:
    head, line = jobs_lines([row("short", **FAILED)], 140)
    assert head.plain.endswith("reason")
    assert line.plain.endswith("exit code 3")


def test_findings_are_counted_by_the_highest_severity() -> None:
    cases = {
        "1 critical of 4": {"critical": 1, "warning": 2, "info": 1},
        "2 warning": {"warning": 2},
        "none": {},
        "–": None,  # no rules were run
    }
    for text, counts in cases.items():
        line = jobs_lines([row("short", findings=counts)], 80)[1]
        assert line.plain.endswith(f"  {text}")
    [span] = [
        span
        for span in jobs_lines([row("critical-1", findings={"critical": 1})], 80)[1].spans
        if span.style == "red"
    ]
    assert span.start > len("critical-1")


def test_nodes_are_counted_where_jobs_have_several() -> None:
    head, line = jobs_lines([row("short", nodes=["a", "b"])], 80)
    assert head.plain.endswith("findings  nodes")
    assert line.plain.endswith("none      2")


def test_control_characters_of_names_and_reasons_are_escaped() -> None:
    failed = {"state": "failed", "exit": {"message": "evil\x1b[2J", "traceback": None}}
    [_, line] = jobs_lines([row("a\x07", **failed)], 140)
    assert line.plain.startswith(r"a\x07  ")
    assert line.plain.endswith(r"  evil\x1b[2J")
