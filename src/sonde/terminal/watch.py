"""The live view of one job: a frame of lines that fits a width and a height.

Colours are the terminal's own sixteen, so that light and dark ones both work.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from sonde.clock import iso
from sonde.formats import (
    UNKNOWN,
    format_byte_rate,
    format_bytes,
    format_duration,
    format_local_clock,
    format_percent,
    pluralize,
)
from sonde.results.coverage import not_seen
from sonde.results.live import JobNow, Level, NodeNow
from sonde.results.notices import latest_notices
from sonde.results.overhead import overhead_text
from sonde.results.recent_samples import COLUMN_SECONDS
from sonde.results.rule_standing import issues
from sonde.results.verdict import verdict
from sonde.terminal.bars import bar, sparkline
from sonde.terminal.finding_list import short_finding_lines
from sonde.terminal.fleet import fleet_lines
from sonde.terminal.gpus import amount_of, gpu_lines
from sonde.terminal.styles import CPU, LABEL, MEMORY, PERCENT, QUIET, fullness, state_style
from sonde.terminal.text import readable, wrapped
from sonde.terminal.training import losses_of_first_mode, phase_names, profiling

_DETAIL = 30
_MOST_BAR, _MOST_CURVE = 50, 60
_MOST_NOTICES = 4
_MOST_FINDINGS = 5
_GAP = "   "


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that stay or go together; the highest rank goes first when there is no room."""

    rank: int
    lines: Sequence[Text]


def frame(now: JobNow, width: int, height: int | None = None) -> list[Text]:
    """What the terminal shows; as tall as it needs to be where no height is given."""
    room = None if height is None else max(3, height)
    head = _head(now, width)
    tail = _tail(now, width, is_live=height is not None)
    found = short_finding_lines(now.findings, _MOST_FINDINGS)
    notices = [*found, *_notices(now.status)]
    if not now.nodes:
        blocks = [_Block(0, [Text("No node has reported yet.", QUIET)]), _Block(1, notices)]
    elif len(now.nodes) == 1:
        gap = _Block(9, [Text()] if notices else [])
        blocks = [
            _Block(1, _training(now.status, width)),
            *_node_blocks(now.nodes[0], width, room),
            gap,
            _Block(1, notices),
        ]
    else:
        training = _training(now.status, width)
        taken = len(head) + len(tail) + len(notices) + len(training)
        left = None if room is None else room - taken
        fleet = _Block(0, fleet_lines(now.nodes, width, left))
        blocks = [_Block(1, training), fleet, _Block(1, notices)]
    lines = _fit(blocks, None if room is None else room - len(head) - len(tail))
    shown = [readable(line) for line in (*head, *lines, *tail)]
    for line in shown:
        line.truncate(width, overflow="ellipsis")
    return shown[:room]


def _fit(blocks: Sequence[_Block], room: int | None) -> list[Text]:
    kept = list(blocks)
    while room is not None and sum(len(one.lines) for one in kept) > room and len(kept) > 1:
        kept.remove(max(reversed(kept), key=lambda one: one.rank))
    lines = [line for one in kept for line in one.lines]
    return lines if room is None else lines[: max(0, room)]


def _head(now: JobNow, width: int) -> list[Text]:
    status = now.status
    left = Text.assemble(
        (status["job"], "bold"), "  ", (status["state"], state_style(status["state"]))
    )
    left.append(f"  {format_duration(status['duration_seconds'])}")
    if status["attempts"] > 1:
        left.append(f"  attempt {status['attempts']}", QUIET)
    where = now.nodes[0].node if len(now.nodes) == 1 else f"{len(now.nodes)} nodes"
    moment = format_local_clock(status["end_time"] or iso(now.time_ns))
    lines = [_both_ends(left, Text(f"{where}  {moment}", QUIET), width)]
    if now.is_over:
        lines.append(Text(verdict(status), state_style(status["state"])))
    said = ((not_seen(status["seen"]), "yellow"), (issues(status), ""))
    lines += [line for text, style in said if text for line in wrapped(Text(text, style), width)]
    return [*lines, Text()]


def _tail(now: JobNow, width: int, *, is_live: bool) -> list[Text]:
    overhead = now.status["overhead"]
    said = Text("watching ", QUIET)
    if overhead is None:
        said.append(UNKNOWN, QUIET)
    else:
        used = overhead_text(overhead)
        said.append(f"{used}, {format_bytes(overhead['bytes_written'])} stored", QUIET)
    ages = [node.silent_seconds for node in now.nodes if node.silent_seconds is not None]
    parts = []
    if len(now.nodes) == 1 and _widths(width)[1]:
        parts.append(f"curves {_widths(width)[1] * COLUMN_SECONDS} s")
    if now.is_over:
        parts.append("values of its last moments")
    elif ages:
        parts.append(f"{min(ages):.0f} s old")
    if is_live:
        parts.append("q leaves")
    return [Text(), _both_ends(said, Text(", ".join(parts), QUIET), width)]


def _both_ends(left: Text, right: Text, width: int) -> Text:
    gap = width - left.cell_len - right.cell_len
    return left if gap < 2 else Text.assemble(left, " " * gap, right)


def _node_blocks(node: NodeNow, width: int, room: int | None) -> list[_Block]:
    if node.silent_seconds is None:  # dashes everywhere would say nothing
        return [_Block(0, [_no_samples(node)])]
    return [
        _Block(0, _silence(node)),
        _Block(0, [_processor(node, width)]),
        _Block(5, _cores(node, width)),
        _Block(0, _memory(node, width)),
        _Block(2, _job(node, width)),
        _Block(2, gpu_lines(node, width, room)),
        _Block(9, [Text()]),
        _Block(3, _traffic(node)),
        _Block(4, _spaces(node)),
    ]


def _training(status: dict[str, Any], width: int) -> list[Text]:
    """Steps, the loss, and where the time of the last steps went, in the first mode there is."""
    if not status["steps"]:
        return []
    parts = [", ".join(f"{count:,} {mode}" for mode, count in status["steps"].items())]
    shares: list[str] = []
    for mode, one in list(status["phases"].items())[:1]:
        parts.append(f"{format_duration(one['seconds']['p50'])} a step")
        names = phase_names({mode: one})
        shares = [f"{name} {format_percent(one['percent'][name])}" for name in names]
    parts += losses_of_first_mode(status["losses"])
    looked_at = profiling(status["profiling"])
    return [
        *_wrapped("Steps", parts, width),
        *_wrapped("Phases", shares, width),
        *_wrapped("Profile", [looked_at] if looked_at else [], width),
        Text(),
    ]


def _wrapped(label: str, parts: Sequence[str], width: int) -> list[Text]:
    """The parts under a label, in as many lines as they need; none is cut in two."""
    lines: list[str] = []
    for part in parts:
        if lines and LABEL + len(lines[-1]) + len(_GAP) + len(part) <= width:
            lines[-1] += _GAP + part
        else:
            lines.append(part)
    return [Text(f"{'' if place else label:<{LABEL}}{line}") for place, line in enumerate(lines)]


def _silence(node: NodeNow) -> list[Text]:
    if not node.is_silent:
        return []
    return [
        Text(f"No samples for {format_duration(node.silent_seconds)}: these are old.", "yellow")
    ]


def _no_samples(node: NodeNow) -> Text:
    if node.state.is_over:
        return Text("No samples were recorded.", "yellow")
    if node.is_silent:
        return Text("No samples have come yet.", "yellow")
    return Text("Waiting for the first samples.", QUIET)


def _widths(width: int) -> tuple[int, int]:
    """How wide bars and curves are."""
    rest = max(0, width - LABEL - PERCENT - _DETAIL - 4)
    curve = min(_MOST_CURVE, rest // 2)
    return min(_MOST_BAR, rest - curve), curve


def _gauge(label: str, value: float | None, style: str, detail: str, width: int) -> Text:
    length, _ = _widths(width)
    return Text.assemble(
        label.ljust(LABEL),
        bar(value, length, style),
        format_percent(value).rjust(PERCENT),
        f"  {detail:<{_DETAIL}}",
    )


def _processor(node: NodeNow, width: int) -> Text:
    cpu = node.processor
    cores = cpu.available_cores or len(cpu.cores) or None
    detail = f"of {pluralize(cores, 'core')}" if cores else ""
    if (cpu.iowait_percent or 0.0) >= 5:
        detail += f", {cpu.iowait_percent:.0f} % iowait"
    line = _gauge("CPU", cpu.percent, CPU, detail, width)
    return line.append(_curve(cpu.history, CPU, width))


def _curve(history: Sequence[float | None], style: str, width: int, most: float = 100.0) -> Text:
    _, length = _widths(width)
    return Text("  ") + sparkline(history[-length:] if length else (), style, most)


def _cores(node: NodeNow, width: int) -> list[Text]:
    """One character per core, so that one busy core of many is seen; the busiest in words."""
    cores = node.processor.cores
    if len(cores) < 2:
        return []
    length = max(8, width - LABEL)
    levels = sparkline([value for _, value in cores], CPU)
    rows = [levels[first : first + length] for first in range(0, len(cores), length)]
    known = sorted(((value, name) for name, value in cores if value is not None), reverse=True)
    words = Text("  busiest ", QUIET)
    words.append(", ".join(f"{name} {value:.0f} %" for value, name in known[:3]) or UNKNOWN)
    last = rows[-1]
    fits = last.cell_len + words.cell_len <= length
    rows[-1:] = [Text.assemble(last, words)] if fits else [last, words[2:]]
    labels = ["Cores".ljust(LABEL), *[" " * LABEL] * (len(rows) - 1)]
    return [Text.assemble(label, row) for label, row in zip(labels, rows, strict=True)]


def _memory(node: NodeNow, width: int) -> list[Text]:
    memory = node.memory
    share = memory.node.percent
    line = _gauge("Memory", share, fullness(share, MEMORY), amount_of(memory.node), width)
    lines = [line.append(_curve(memory.history, MEMORY, width))]
    if memory.limit is not None:
        share = memory.limit.percent
        detail = f"{amount_of(memory.limit)} limit"
        lines.append(_gauge("  cgroup", share, fullness(share, MEMORY), detail, width))
    return lines


def _traffic(node: NodeNow) -> list[Text]:
    traffic = node.traffic
    disk = [
        f"read {format_byte_rate(traffic.disk_read):>10}",
        f"write {format_byte_rate(traffic.disk_write):>10}",
    ]
    if traffic.disk_busy_percent is not None:
        disk.append(f"busy {format_percent(traffic.disk_busy_percent):>5}")
    network = [
        f"in   {format_byte_rate(traffic.network_in):>10}",
        f"out   {format_byte_rate(traffic.network_out):>10}",
    ]
    return [
        Text(f"{label:<{LABEL}}{'   '.join(parts)}")
        for label, parts in (("Disk", disk), ("Network", network))
    ]


def _job(node: NodeNow, width: int) -> list[Text]:
    """The job's own share of the machine: the rest of it may be somebody else's."""
    job, memory = node.processes, node.memory
    known = node.processor.available_cores or len(node.processor.cores)
    cores = known or 1
    cpu = None if job.cpu_percent is None else job.cpu_percent / cores
    detail = _cores_used(job.cpu_percent)
    detail += f" of {pluralize(known, 'core')}" if known else " cores"
    if job.count is not None:
        detail += f", {pluralize(job.count, 'process', 'processes')}"
    whole = memory.limit.total_bytes if memory.limit else memory.node.total_bytes
    share = Level(job.rss_bytes, whole).percent
    threads = "" if job.threads is None else f", {pluralize(round(job.threads), 'thread')}"
    return [
        _gauge("Job CPU", cpu, CPU, detail, width).append(
            _curve(job.cpu_history, CPU, width, 100 * cores)
        ),
        _gauge("Job mem", share, MEMORY, f"{format_bytes(job.rss_bytes)}{threads}", width).append(
            # to its own highest: a leak shows long before it fills the machine
            _curve(job.rss_history, MEMORY, width, max(filter(None, job.rss_history), default=1))
        ),
    ]


def _cores_used(percent_of_one: float | None) -> str:
    if percent_of_one is None:
        return UNKNOWN
    return f"{percent_of_one / 100:.{1 if percent_of_one >= 10 else 2}f}"


def _spaces(node: NodeNow) -> list[Text]:
    if not node.spaces:
        return []
    line = Text("Free".ljust(LABEL))
    for place, space in enumerate(node.spaces):
        taken = None if space.free_percent is None else 100 - space.free_percent
        text = (
            f"{space.mount} {format_bytes(space.free_bytes)} ({format_percent(space.free_percent)})"
        )
        line.append("   " if place else "").append(text, fullness(taken, ""))
    return [line]


def _dead_nodes(status: dict[str, Any]) -> list[Text]:
    """Nodes that are gone while others go on."""
    dead = [run for run in status["runs"] if run["exit"] and run["state"] != "completed"]
    return [
        Text(f"{run['node']} {run['state']}: {run['exit']['message'] or '–'}", "red")
        for run in dead[:_MOST_NOTICES]
    ]


def _notices(status: dict[str, Any]) -> list[Text]:
    """What was lost or switched off, the latest last."""
    lost = [(gap["from"], "lost", gap["what"], gap["reason"]) for gap in status["lost"]]
    off = [(None, "not collected", one["what"], one["reason"]) for one in status["not_collected"]]
    notes = latest_notices(status["notices"])
    changed = [(one["time"], "note", one["what"], one["text"]) for one in notes]
    said = sorted([*off, *lost, *changed], key=lambda one: one[0] or "")[-_MOST_NOTICES:]
    lines = [] if status["end_time"] else _dead_nodes(status)
    for time, kind, what, reason in said:
        line = Text.assemble((f"{format_local_clock(time)} ".lstrip(), QUIET))
        style = {"lost": "red", "not collected": "yellow"}.get(kind, QUIET)
        lines.append(line.append(f"{kind}: ", style).append(f"{what}: {reason}"))
    return lines
