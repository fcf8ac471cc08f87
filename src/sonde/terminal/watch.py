"""The live view of one job: a frame of lines that fits a width and a height.

Uses only the sixteen colors of the terminal, so that light and dark themes work.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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
from sonde.records.documents import StatusDocument
from sonde.records.notice import notice_label
from sonde.results.coverage import unrecorded_line
from sonde.results.live import JobNow, Level, NodeNow
from sonde.results.notices import latest_notices
from sonde.results.overhead import overhead_text
from sonde.results.recent_samples import COLUMN_SECONDS
from sonde.results.rule_standing import issues
from sonde.results.verdict import verdict
from sonde.terminal.bars import bar, sparkline, stacked_bar
from sonde.terminal.finding_list import short_finding_lines
from sonde.terminal.fleet import fleet_lines
from sonde.terminal.gpus import format_level, gpu_lines
from sonde.terminal.headline import headline_lines
from sonde.terminal.output import readable, wrapped
from sonde.terminal.styles import CPU, LABEL, MEMORY, PERCENT, QUIET, fullness, state_style
from sonde.terminal.training import losses_of_first_mode, phase_names, profiling

_DETAIL = 30
_MAX_BAR, _MAX_CURVE = 50, 60
_MAX_NOTICES = 4
_MAX_FINDINGS = 5
_GAP = "   "
_FINDING_INDENT = " " * 9  # below the time of day


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that are shown or dropped together; the highest rank is dropped first."""

    rank: int
    lines: Sequence[Text]


def frame(now: JobNow, width: int, height: int | None = None) -> list[Text]:
    """The lines of a frame, limited to a height if there is one."""
    room = None if height is None else max(3, height)
    head = _head(now, width)
    tail = _tail(now, width, is_live=height is not None)
    findings = _findings(now, width)
    notices = [*findings, *_notices(now.status)]
    strip = _Block(3, [*headline_lines(now.headline, width), Text()] if now.headline else [])
    if not now.nodes:
        blocks = [_Block(0, [Text("No node has reported yet", QUIET)]), _Block(1, notices)]
    elif len(now.nodes) == 1:
        gap = _Block(9, [Text()] if notices else [])
        blocks = [
            strip,
            _Block(1, _training(now.status, width)),
            *_node_blocks(now.nodes[0], width, room),
            gap,
            _Block(1, notices),
        ]
    else:
        training = _training(now.status, width)
        used = sum(map(len, (head, tail, notices, training, strip.lines)))
        free = None if room is None else room - used
        fleet = _Block(0, fleet_lines(now.nodes, width, free))
        blocks = [strip, _Block(1, training), fleet, _Block(1, notices)]
    lines = _fit(blocks, None if room is None else room - len(head) - len(tail))
    shown = [readable(line) for line in (*head, *lines, *tail)]
    for line in shown:
        line.truncate(width, overflow="ellipsis")
    return shown[:room]


def _findings(now: JobNow, width: int) -> list[Text]:
    """Each finding on up to two lines; new ones are marked while the job runs."""
    time_ns = None if now.is_over else now.time_ns
    lines = short_finding_lines(now.findings, _MAX_FINDINGS, time_ns)
    return [piece for line in lines for piece in _two_lines(line, width, _FINDING_INDENT)]


def _two_lines(line: Text, width: int, indent: str = "") -> list[Text]:
    first, *rest = wrapped(line, width - len(indent))
    if len(rest) > 1:
        rest[0].append(" …")
    return [first, *(Text(indent) + piece for piece in rest[:1])]


def _fit(blocks: Sequence[_Block], room: int | None) -> list[Text]:
    remaining = list(blocks)
    while (
        room is not None
        and sum(len(block.lines) for block in remaining) > room
        and len(remaining) > 1
    ):
        remaining.remove(max(reversed(remaining), key=lambda block: block.rank))
    lines = [line for block in remaining for line in block.lines]
    return lines if room is None else lines[: max(0, room)]


def _head(now: JobNow, width: int) -> list[Text]:
    status = now.status
    title = Text.assemble(
        (status["job"], "bold"), "  ", (status["state"], state_style(status["state"]))
    )
    title.append(f"  {format_duration(status['duration_seconds'])}")
    if status["attempts"] > 1:
        title.append(f"  attempt {status['attempts']}", QUIET)
    where = now.nodes[0].node if len(now.nodes) == 1 else f"{len(now.nodes)} nodes"
    moment = format_local_clock(status["end_time"] or iso(now.time_ns))
    lines = [_both_ends(title, Text(f"{where}  {moment}", QUIET), width)]
    if now.is_over:
        lines.append(Text(verdict(status), state_style(status["state"])))
    for text, style in (
        (unrecorded_line(status["seen"]), "yellow"),
        (now.sentence or issues(status), ""),
    ):
        lines += _two_lines(Text(text, style), width) if text else []
    return [*lines, Text()]


def _tail(now: JobNow, width: int, *, is_live: bool) -> list[Text]:
    overhead = now.status["overhead"]
    overhead_line = Text("Overhead: ", QUIET)
    if overhead is None:
        overhead_line.append(UNKNOWN, QUIET)
    else:
        used = overhead_text(overhead)
        overhead_line.append(f"{used}, {format_bytes(overhead['bytes_written'])} stored", QUIET)
    ages = [node.silent_seconds for node in now.nodes if node.silent_seconds is not None]
    notes = []
    if len(now.nodes) == 1 and _widths(width)[1]:
        notes.append(f"history {format_duration(_widths(width)[1] * COLUMN_SECONDS)}")
    if now.is_over:
        notes.append("last recorded values")
    elif ages:
        notes.append(f"updated {format_duration(round(min(ages)))} ago")
    if is_live:
        notes.append("q to quit")
    while len(notes) > 1 and overhead_line.cell_len + len(", ".join(notes)) + 2 > width:
        notes.pop(0)
    return [Text(), _both_ends(overhead_line, Text(", ".join(notes), QUIET), width)]


def _both_ends(start: Text, end: Text, width: int) -> Text:
    gap = width - start.cell_len - end.cell_len
    return start if gap < 2 else Text.assemble(start, " " * gap, end)


def _node_blocks(node: NodeNow, width: int, room: int | None) -> list[_Block]:
    if node.silent_seconds is None:  # there is nothing to show
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


def _training(status: StatusDocument, width: int) -> list[Text]:
    """Steps, losses and the share of each phase, in the first mode."""
    if not status["steps"]:
        return []
    texts = [", ".join(f"{count:,} {mode}" for mode, count in status["steps"].items())]
    shares: list[str] = []
    for mode, phase_times in list(status["phases"].items())[:1]:
        texts.append(f"{format_duration(phase_times['seconds']['p50'])} per step")
        names = phase_names({mode: phase_times})
        shares = [f"{name} {format_percent(phase_times['percent'][name])}" for name in names]
    texts += losses_of_first_mode(status["losses"])
    profile = profiling(status["profiling"])
    return [
        *_wrapped("Steps", texts, width),
        *_wrapped("Phases", shares, width),
        *_wrapped("Profile", [profile] if profile else [], width),
        Text(),
    ]


def _wrapped(label: str, texts: Sequence[str], width: int) -> list[Text]:
    """The texts after a label, wrapped between texts."""
    lines: list[str] = []
    for text in texts:
        if lines and LABEL + len(lines[-1]) + len(_GAP) + len(text) <= width:
            lines[-1] += _GAP + text
        else:
            lines.append(text)
    return [Text(f"{'' if index else label:<{LABEL}}{line}") for index, line in enumerate(lines)]


def _silence(node: NodeNow) -> list[Text]:
    if not node.is_silent:
        return []
    return [
        Text(
            f"No samples for {format_duration(node.silent_seconds)}. These values are old.",
            "yellow",
        )
    ]


def _no_samples(node: NodeNow) -> Text:
    if node.state.is_over:
        return Text("No samples recorded", "yellow")
    if node.is_silent:
        return Text("No samples received yet", "yellow")
    return Text("Waiting for the first samples", QUIET)


def _widths(width: int) -> tuple[int, int]:
    """The widths of bars and curves."""
    rest = max(0, width - LABEL - PERCENT - _DETAIL - 4)
    curve = min(_MAX_CURVE, rest // 2)
    return min(_MAX_BAR, rest - curve), curve


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
        detail += f", {format_percent(cpu.iowait_percent)} I/O wait"
    job = _job_share(node)
    if job is not None:
        detail += f", job {format_percent(job)}"
    length, _ = _widths(width)
    line = Text.assemble(
        "CPU".ljust(LABEL),
        stacked_bar(job, cpu.percent, length, CPU),
        format_percent(cpu.percent).rjust(PERCENT),
        f"  {detail:<{_DETAIL}}",
    )
    return line.append(_curve(cpu.history, CPU, width))


def _job_share(node: NodeNow) -> float | None:
    """CPU time of the job in percent of all cores of its node."""
    cores = node.processor.available_cores or len(node.processor.cores) or 1
    percent = node.processes.cpu_percent
    return None if percent is None else percent / cores


def _curve(history: Sequence[float | None], style: str, width: int, maximum: float = 100.0) -> Text:
    _, length = _widths(width)
    return Text("  ") + sparkline(history[-length:] if length else (), style, maximum)


def _cores(node: NodeNow, width: int) -> list[Text]:
    """One character per core, so that a single busy core is visible, and the busiest cores."""
    cores = node.processor.cores
    if len(cores) < 2:
        return []
    length = max(8, width - LABEL)
    levels = sparkline([value for _, value in cores], CPU)
    rows = [levels[first : first + length] for first in range(0, len(cores), length)]
    busiest = sorted(((value, name) for name, value in cores if value is not None), reverse=True)
    words = Text("  busiest ", QUIET)
    words.append(
        ", ".join(f"{name} {format_percent(value)}" for value, name in busiest[:3]) or UNKNOWN
    )
    last = rows[-1]
    fits = last.cell_len + words.cell_len <= length
    rows[-1:] = [Text.assemble(last, words)] if fits else [last, words[2:]]
    labels = ["Cores".ljust(LABEL), *[" " * LABEL] * (len(rows) - 1)]
    return [Text.assemble(label, row) for label, row in zip(labels, rows, strict=True)]


def _memory(node: NodeNow, width: int) -> list[Text]:
    memory = node.memory
    share = memory.node.percent
    line = _gauge("Memory", share, fullness(share, MEMORY), format_level(memory.node), width)
    lines = [line.append(_curve(memory.history, MEMORY, width))]
    if memory.limit is not None:
        share = memory.limit.percent
        detail = f"{format_level(memory.limit)} limit"
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
        Text(f"{label:<{LABEL}}{'   '.join(texts)}")
        for label, texts in (("Disk", disk), ("Network", network))
    ]


def _job(node: NodeNow, width: int) -> list[Text]:
    """CPU and memory usage of the job's processes."""
    job, memory = node.processes, node.memory
    core_count = node.processor.available_cores or len(node.processor.cores)
    cores = core_count or 1
    detail = _cores_used(job.cpu_percent)
    detail += f" of {pluralize(core_count, 'core')}" if core_count else " cores"
    if job.count is not None:
        detail += f", {pluralize(round(job.count), 'process', 'processes')}"
    total_bytes = memory.limit.total_bytes if memory.limit else memory.node.total_bytes
    share = Level(job.rss_bytes, total_bytes).percent
    threads = "" if job.threads is None else f", {pluralize(round(job.threads), 'thread')}"
    return [
        _gauge("Job CPU", _job_share(node), CPU, detail, width).append(
            _curve(job.cpu_history, CPU, width, 100 * cores)
        ),
        _gauge("Job mem", share, MEMORY, f"{format_bytes(job.rss_bytes)}{threads}", width).append(
            # scaled to its own maximum: a leak is visible long before memory is full
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
    for index, space in enumerate(node.spaces):
        used_percent = None if space.free_percent is None else 100 - space.free_percent
        text = (
            f"{space.mount} {format_bytes(space.free_bytes)} ({format_percent(space.free_percent)})"
        )
        line.append("   " if index else "").append(text, fullness(used_percent, ""))
    return [line]


def _dead_nodes(status: StatusDocument) -> list[Text]:
    """Nodes that failed while others continue."""
    lines = [
        Text(f"{run['node']} {run['state']}: {run['exit']['message'] or '–'}", "red")
        for run in status["runs"]
        if run["exit"] and run["state"] != "completed"
    ]
    return lines[:_MAX_NOTICES]


def _notices(status: StatusDocument) -> list[Text]:
    """Lost data, disabled collectors and notices, latest last."""
    lost = [(gap["from"], "data lost", gap["what"], gap["reason"]) for gap in status["lost"]]
    off = [
        (None, "not recorded", notice_label(notice["what"]), notice["reason"])
        for notice in status["not_collected"]
    ]
    notes = latest_notices(status["notices"])
    changed = [(notice["time"], "note", notice["what"], notice["text"]) for notice in notes]
    latest = sorted([*off, *lost, *changed], key=lambda notice: notice[0] or "")[-_MAX_NOTICES:]
    lines = [] if status["end_time"] else _dead_nodes(status)
    for time, kind, what, reason in latest:
        line = Text.assemble((f"{format_local_clock(time)} ".lstrip(), QUIET))
        style = {"data lost": "red", "not recorded": "yellow"}.get(kind, QUIET)
        lines.append(line.append(f"{kind}: ", style).append(f"{what}: {reason}"))
    return lines
