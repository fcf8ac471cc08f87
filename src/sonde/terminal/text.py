"""What commands print: lines that read well in a terminal and in a pipe.

Styles are marks on the text; a pipe, or NO_COLOR, gets the text alone.
"""

import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from io import TextIOWrapper
from itertools import accumulate
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Span, Text

from sonde.drawing.printable import is_visible, readable_pieces, writing
from sonde.formats import (
    format_bytes,
    format_duration,
    format_local_clock,
    format_local_time,
    format_value,
    pluralize,
)
from sonde.results.coverage import not_seen
from sonde.results.notices import latest_notices
from sonde.results.overhead import overhead_text
from sonde.results.rule_standing import broken, issues, standing, worst_first
from sonde.results.verdict import reason, verdict
from sonde.terminal.finding_list import short_finding_lines
from sonde.terminal.styles import QUIET, state_style
from sonde.terminal.training import phase_lines, training_rows

_LABEL = 15
_LONGEST_COMMAND = 500
_DEEPEST_INDENT = 24
_MOST_FINDINGS = 12
_STATISTICS = ("minimum", "p50", "p95", "maximum")
_NAMES = {
    "cpu.utilization_percent": "CPU",
    "cpu.iowait_percent": "I/O wait",
    "memory.used_bytes": "memory",
    "process_tree.rss_bytes": "memory of the job",
    "gpu.utilization_percent": "GPU",
    "gpu.memory_used_bytes": "GPU memory",
    "disk.read_bytes_per_second": "disk read",
    "disk.write_bytes_per_second": "disk write",
    "network.receive_bytes_per_second": "network in",
    "network.transmit_bytes_per_second": "network out",
}
RESOURCES = tuple(_NAMES)  # what the table of resources shows, in its order


def print_lines(lines: Iterable[Text]) -> None:
    """Prints lines on standard output; on a terminal coloured, and broken between words."""
    console = console_for_output()
    with writing():
        for line in map(readable, lines):
            for part in wrapped(line, console.width) if console.is_terminal else [line]:
                console.print(part)


def readable(line: Text) -> Text:
    """The line with its control characters written out: what was recorded commands no terminal."""
    if is_visible(line.plain):
        return line
    pieces = readable_pieces(line.plain)
    places = list(accumulate(map(len, pieces), initial=0))
    last = len(pieces)
    spans = [Span(places[one.start], places[min(one.end, last)], one.style) for one in line.spans]
    return Text("".join(pieces), line.style, spans=spans)


def wrapped(line: Text, width: int) -> list[Text]:
    """The line in as many as it needs, broken between words, under the start of its text.

    A word that is longer than a line stays whole, so that it can be copied.
    """
    if line.cell_len <= width:
        return [line]
    label = re.match(r"\s*\S+(?: \S+)*? {2,}|\s*", line.plain)
    indent = cell_len(label[0]) if label else 0
    indent = indent if indent <= min(_DEEPEST_INDENT, width // 2) else 0
    cuts, used = [], 0
    for word in re.finditer(r"\s*\S+\s*", line.plain):
        if used > indent and used + cell_len(word[0].rstrip()) > width:
            cuts.append(word.start())
            used = indent
        used += cell_len(word[0])
    first, *rest = line.divide(cuts)
    parts = [first, *(Text(" " * indent) + part for part in rest)]
    for part in parts:
        part.rstrip()
    return parts


def width_of_output() -> int | None:
    """How wide the terminal is; None where the output is none."""
    console = console_for_output()
    return console.width if console.is_terminal else None


def console_for_output() -> Console:
    """Standard output; characters that its encoding lacks become question marks, not errors."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return _Console(file=sys.stdout, highlight=False, soft_wrap=True)


class _Console(Console):
    """Leaves it to the command line what a reader that has gone means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def verdict_lines(status: Mapping[str, Any], job: str) -> list[Text]:
    """The verdict, and where to read on; `job` is how the caller named it."""
    return [
        *_first(status),
        Text(verdict(status), state_style(status["state"])),
        Text(f"details: sonde status {job}", QUIET),
    ]


def status_lines(status: Mapping[str, Any]) -> list[Text]:
    """One job for a person: what became of it first, then the details, then the resources."""
    lines = [*_first(status), Text(verdict(status), state_style(status["state"]))]
    lines += [Text(sentence) for sentence in (issues(status),) if sentence]
    lines.append(Text())
    rows = [*_facts(status), *training_rows(status), *_recorded(status)]
    lines += [Text.assemble((f"{label:<{_LABEL}}", QUIET), text) for label, text in rows if text]
    lines += _traceback(status) + _findings(status) + phase_lines(status["phases"])
    return lines + resource_lines(status.get("resources", ()))


def _first(status: Mapping[str, Any]) -> list[Text]:
    """That the inside was not seen is said before everything else."""
    line = not_seen(status["seen"])
    return [Text(line, "yellow")] if line else []


def _findings(status: Mapping[str, Any]) -> list[Text]:
    lines = short_finding_lines(worst_first(status["rules"]), _MOST_FINDINGS)
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
            clean = {"yes": "clean", "no": "with changes"}.get(git.get("is_clean", ""), "")
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
    return text if len(text) <= _LONGEST_COMMAND else f"{text[: _LONGEST_COMMAND - 1]}…"


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
        rows.append(("rules", standing(status["rules"], is_over=status["end_time"] is not None)))
        rows += [("rule failed", text) for text in broken(status["rules"])]
    rows += [("lost", _lost(gap)) for gap in status["lost"]]
    rows += [("not sent yet", _unsent(one)) for one in status.get("unsent", ()) if one["files"]]
    rows += [("not collected", f"{o['what']}: {o['reason']}") for o in status["not_collected"]]
    rows += [
        ("note", f"{format_local_clock(n['time'])} {n['what']}: {n['text']}")
        for n in latest_notices(status["notices"])
    ]
    return rows


def _unsent(one: Mapping[str, Any]) -> str:
    return f"{format_bytes(one['bytes'])} in {pluralize(one['files'], 'file')} in {one['folder']}"


def _lost(gap: Mapping[str, Any]) -> str:
    when = (
        f", {format_local_time(gap['from'])} to {format_local_clock(gap['to'])}"
        if gap["from"]
        else ""
    )
    return f"{gap['what']}{when}: {gap['reason']}"


def _traceback(status: Mapping[str, Any]) -> list[Text]:
    trace = (status["exit"] or {}).get("traceback")
    return [Text(), *map(Text, trace.splitlines())] if trace else []


def resource_lines(resources: Sequence[Mapping[str, Any]]) -> list[Text]:
    """A table per node: minimum, median, 95th percentile and maximum, each with its unit."""
    lines: list[Text] = []
    for node in dict.fromkeys(row["node"] for row in resources):
        rows = [
            (
                _resource_name(row),
                *(format_value(row[name], row["unit"]) for name in _STATISTICS),
            )
            for row in resources
            if row["node"] == node and not _is_idle(row)
        ]
        lines.append(Text())
        lines += table([(f"on {node}", "min", "p50", "p95", "max"), *rows], left=1)
    return lines


def _is_idle(row: Mapping[str, Any]) -> bool:
    """A disk or an interface that nothing went through is not worth a line."""
    return row["metric"].startswith(("disk.", "network.")) and not row["maximum"]


def _resource_name(row: Mapping[str, Any]) -> str:
    name = _NAMES.get(row["metric"], row["metric"])
    return f"{name} {row['device']}".rstrip()


def jobs_lines(jobs: Sequence[Mapping[str, Any]], width: int | None = None) -> list[Text]:
    """A table of jobs; cut at a width where one is given."""
    titles = ("job", "state", "started", "duration", "nodes", "why it ended")
    rows = [
        (
            job["job"],
            job["state"],
            format_local_time(job["start_time"]),
            format_duration(job["duration_seconds"]),
            str(len(job["nodes"])),
            reason(job).partition("\n")[0],
        )
        for job in jobs
    ]
    lines = table([titles, *rows], left=3, last_left=True)
    first = max(len(row[0]) for row in [titles, *rows]) + 2
    for line, job in zip(lines[1:], jobs, strict=True):
        line.stylize(state_style(job["state"]), first, first + len(job["state"]))
    lines = [readable(line) for line in lines]
    for line in lines if width is not None else ():
        line.truncate(width or 0, overflow="ellipsis")
    return lines


def table(rows: Sequence[Sequence[str]], left: int, *, last_left: bool = False) -> list[Text]:
    """Columns as wide as they need to be, the first ones flush left; the titles are quiet."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            text.ljust(width)
            if place < left or (last_left and place == len(row) - 1)
            else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(Text("  ".join(cells).rstrip(), "" if number else QUIET))
    return lines
