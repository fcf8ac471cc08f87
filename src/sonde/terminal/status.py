"""The output of `sonde status`: the state of a job, its details, findings and resources."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.formats import (
    format_bytes,
    format_local_clock,
    format_local_time,
    pluralize,
)
from sonde.records.notice import notice_label
from sonde.results.coverage import unrecorded_line
from sonde.results.failure_details import failing_line_text, last_output, marked_traceback
from sonde.results.headline import Figure
from sonde.results.notices import latest_notices
from sonde.results.overhead import overhead_text
from sonde.results.rule_standing import failed_rules, issues, status_counts
from sonde.results.rule_verdict import documents_root_first
from sonde.results.verdict import verdict
from sonde.terminal.finding_list import short_finding_lines
from sonde.terminal.headline import headline_lines
from sonde.terminal.resources import resource_lines
from sonde.terminal.styles import QUIET, state_style
from sonde.terminal.training import phase_lines, training_rows

_LABEL = 15
_MAX_COMMAND_LENGTH = 500
_MAX_FINDINGS = 12


def verdict_lines(status: Mapping[str, Any], job: str) -> list[Text]:
    """The verdict, and the command for details; `job` is the reference the caller used."""
    return [
        *_not_seen_lines(status),
        Text(verdict(status), state_style(status["state"])),
        Text(f"Details: sonde status {job}", QUIET),
    ]


def status_lines(
    status: Mapping[str, Any],
    figures: Sequence[Figure] = (),
    sentence: str = "",
    width: int | None = None,
) -> list[Text]:
    """The state of a job and its reason first, then details, findings and resources.

    Args:
        status: The status document.
        figures: The headline.
        sentence: The verdict of the rules; by default, only whether there are no issues.
        width: Of the terminal, for the headline.
    """
    lines = [*_not_seen_lines(status), Text(verdict(status), state_style(status["state"]))]
    lines += _failing_line(status)
    lines += [Text(each) for each in (sentence or issues(status),) if each]
    lines.append(Text())
    if figures:
        lines += [*headline_lines(figures, width), Text()]
    rows = [*_facts(status), *training_rows(status), *_recorded(status)]
    lines += [Text.assemble((f"{label:<{_LABEL}}", QUIET), text) for label, text in rows if text]
    lines += (
        _traceback(status)
        + _last_output(status)
        + _findings(status)
        + phase_lines(status["phases"])
    )
    return lines + resource_lines(status.get("resources", ()))


def _not_seen_lines(status: Mapping[str, Any]) -> list[Text]:
    """A warning if the training process was not recorded."""
    line = unrecorded_line(status["seen"])
    return [Text(line, "yellow")] if line else []


def _findings(status: Mapping[str, Any]) -> list[Text]:
    findings = [finding for rule in status["rules"] for finding in rule["findings"]]
    lines = short_finding_lines(documents_root_first(findings), _MAX_FINDINGS)
    return [Text(), Text("findings", QUIET), *lines] if lines else []


def _facts(status: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("started", format_local_time(status["start_time"])),
        ("ended", format_local_time(status["end_time"])),
    ]
    run = status["runs"][-1] if status["runs"] else None
    if run is not None:
        rows += [("command", _command(run["command"])), ("folder", run["folder"])]
        git = run["git"]
        if git:
            clean = {"yes": "clean", "no": "uncommitted changes"}.get(git.get("is_clean", ""), "")
            rows.append(("git", f"{git['commit'][:12]} {git['branch']} {clean}".rstrip()))
    rows.append(("nodes", _nodes(status["nodes"])))
    if status["attempts"] > 1:
        rows.append(("attempts", str(status["attempts"])))
    exit_ = status["exit"] or {}
    if exit_.get("code") is not None:
        signal = f" ({exit_['signal']})" if exit_.get("signal") else ""
        rows.append(("exit code", f"{exit_['code']}{signal}"))
    if exit_.get("worker") is not None and status["workers"] > 1:
        rows.append(("failed first", f"worker {exit_['worker']}"))
    rows.append(("still running", ", ".join(exit_.get("left_running") or ())))
    return rows


def _command(words: Sequence[str]) -> str:
    text = shlex.join(words)
    return text if len(text) <= _MAX_COMMAND_LENGTH else f"{text[: _MAX_COMMAND_LENGTH - 1]}…"


def _nodes(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{len(names)}: {shown}, …"


def _recorded(status: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    overhead = status["overhead"]
    if overhead:
        used = overhead_text(overhead)
        rows.append(("overhead", f"{used}, {format_bytes(overhead['bytes_written'])} written"))
    if status["rules"]:
        rows.append(
            ("rules", status_counts(status["rules"], is_over=status["end_time"] is not None))
        )
        rows += [("rule failed", text) for text in failed_rules(status["rules"])]
    rows.append(("report", status.get("report", "")))
    rows += [("data lost", _lost_text(gap)) for gap in status["lost"]]
    rows += [
        ("not sent yet", _unsent_text(unsent_row))
        for unsent_row in status.get("unsent", ())
        if unsent_row["files"]
    ]
    rows += [
        ("not recorded", f"{notice_label(unrecorded['what'])}: {unrecorded['reason']}")
        for unrecorded in status["not_collected"]
    ]
    rows += [
        ("note", f"{format_local_clock(notice['time'])} {notice['what']}: {notice['text']}")
        for notice in latest_notices(status["notices"])
    ]
    return rows


def _unsent_text(row: Mapping[str, Any]) -> str:
    return f"{format_bytes(row['bytes'])} in {pluralize(row['files'], 'file')} in {row['folder']}"


def _lost_text(gap: Mapping[str, Any]) -> str:
    when = (
        f", {format_local_time(gap['from'])} to {format_local_clock(gap['to'])}"
        if gap["from"]
        else ""
    )
    return f"{gap['what']}{when}: {gap['reason']}"


def _traceback(status: Mapping[str, Any]) -> list[Text]:
    """The traceback, in which the failing line of the user's code is marked."""
    lines = [
        Text(f">{text.removeprefix(' ')}", "bold red") if is_failing else Text(text)
        for text, is_failing in marked_traceback(status["exit"])
    ]
    return [Text(), *lines] if lines else []


def _failing_line(status: Mapping[str, Any]) -> list[Text]:
    where = failing_line_text(status["exit"])
    if not where:
        return []
    code = status["exit"]["failed_at"]["code"]
    return [Text(f"at {where}"), *([Text(f"    {code}", "bold red")] if code else [])]


def _last_output(status: Mapping[str, Any]) -> list[Text]:
    lines: list[Text] = []
    for stream, tail in last_output(status).items():
        lines += [Text(), Text(f"last lines of {stream}", QUIET), *(Text(f"  {it}") for it in tail)]
    return lines
