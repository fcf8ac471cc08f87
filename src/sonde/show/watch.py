"""The live view of one job: a frame of lines that fits a width and a height.

Colours are the terminal's own sixteen, so that light and dark ones both work.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from sonde.clock import iso
from sonde.show.bars import bar, sparkline
from sonde.show.fleet import fleet_lines
from sonde.show.present import Gpu, JobNow, Level, NodeNow
from sonde.show.recent import COLUMN_SECONDS
from sonde.show.styles import CPU, GPU, MEMORY, QUIET, fullness, state_style
from sonde.show.terminal import verdict
from sonde.show.units import UNKNOWN, duration, local_hour, percent, rate, size

_LABEL = 9
_PERCENT = 6
_DETAIL = 24
_MOST_BAR, _MOST_CURVE = 50, 60
_MOST_NOTICES = 4


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
    notices = _notices(now.status)
    if len(now.nodes) == 1:
        blocks = [*_node_blocks(now.nodes[0], width, room), _Block(1, notices)]
    else:
        left = None if room is None else room - len(head) - len(tail) - len(notices)
        blocks = [_Block(0, fleet_lines(now.nodes, width, left)), _Block(1, notices)]
    lines = _fit(blocks, None if room is None else room - len(head) - len(tail))
    shown = [*head, *lines, *tail]
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
    left.append(f"  {duration(status['duration_seconds'])}")
    if status["attempts"] > 1:
        left.append(f"  attempt {status['attempts']}", QUIET)
    where = now.nodes[0].node if len(now.nodes) == 1 else f"{len(now.nodes)} nodes"
    moment = local_hour(status["end_time"] or iso(now.time_ns))
    lines = [_both_ends(left, Text(f"{where}  {moment}", QUIET), width)]
    if now.is_over:
        lines.append(Text(verdict(status), state_style(status["state"])))
    return [*lines, Text()]


def _tail(now: JobNow, width: int, *, is_live: bool) -> list[Text]:
    cost = now.status["overhead"]
    said = Text("watching ", QUIET)
    if cost is None:
        said.append(UNKNOWN, QUIET)
    else:
        used = f"{cost['percent']:.2f} % of a core"
        said.append(f"{used}, {size(cost['bytes_written'])} stored", QUIET)
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
    if node.is_silent:
        silent = duration(node.silent_seconds) or "the start"
        warning = [Text(f"No samples for {silent}; the values below are old.", "yellow")]
    else:
        warning = []
    return [
        _Block(0, warning),
        _Block(0, [_processor(node, width)]),
        _Block(5, _cores(node, width)),
        _Block(0, _memory(node, width)),
        _Block(2, _gpus(node, width, room)),
        _Block(9, [Text()]),
        _Block(3, _traffic(node)),
        _Block(2, [_processes(node)]),
        _Block(4, _spaces(node)),
    ]


def _widths(width: int) -> tuple[int, int]:
    """How wide bars and curves are."""
    rest = max(0, width - _LABEL - _PERCENT - _DETAIL - 4)
    curve = min(_MOST_CURVE, rest // 2)
    return min(_MOST_BAR, rest - curve), curve


def _gauge(label: str, value: float | None, style: str, detail: str, width: int) -> Text:
    length, _ = _widths(width)
    return Text.assemble(
        label.ljust(_LABEL),
        bar(value, length, style),
        percent(value).rjust(_PERCENT),
        f"  {detail:<{_DETAIL}}",
    )


def _processor(node: NodeNow, width: int) -> Text:
    cpu = node.processor
    cores = cpu.available_cores or len(cpu.cores) or None
    detail = f"of {cores:g} cores" if cores else ""
    if (cpu.iowait_percent or 0.0) >= 5:
        detail += f", {cpu.iowait_percent:.0f} % iowait"
    line = _gauge("CPU", cpu.percent, CPU, detail, width)
    return line.append(_curve(cpu.history, CPU, width))


def _curve(history: Sequence[float | None], style: str, width: int) -> Text:
    _, length = _widths(width)
    return Text("  ") + sparkline(history[-length:] if length else (), style)


def _cores(node: NodeNow, width: int) -> list[Text]:
    """One character per core, so that one busy core of many is seen; the busiest in words."""
    cores = node.processor.cores
    if len(cores) < 2:
        return []
    length = max(8, width - _LABEL)
    levels = sparkline([value for _, value in cores], CPU)
    rows = [levels[first : first + length] for first in range(0, len(cores), length)]
    known = sorted(((value, name) for name, value in cores if value is not None), reverse=True)
    words = Text("  busiest ", QUIET)
    words.append(", ".join(f"{name} {value:.0f} %" for value, name in known[:3]) or UNKNOWN)
    last = rows[-1]
    fits = last.cell_len + words.cell_len <= length
    rows[-1:] = [last + words] if fits else [last, words[2:]]
    labels = ["Cores".ljust(_LABEL), *[" " * _LABEL] * (len(rows) - 1)]
    return [Text(label) + row for label, row in zip(labels, rows, strict=True)]


def _memory(node: NodeNow, width: int) -> list[Text]:
    memory = node.memory
    share = memory.node.percent
    line = _gauge("Memory", share, fullness(share, MEMORY), _of(memory.node), width)
    lines = [line.append(_curve(memory.history, MEMORY, width))]
    if memory.limit is not None:
        share = memory.limit.percent
        detail = f"{_of(memory.limit)} limit"
        lines.append(_gauge("  cgroup", share, fullness(share, MEMORY), detail, width))
    return lines


def _of(level: Level) -> str:
    """Both in the unit of the whole, so that a column of them can be compared at a glance."""
    used, whole = level.used_bytes, level.total_bytes
    total = size(whole)
    if used is None or not whole:
        return f"{size(used)} of {total}"
    number, unit = total.split()
    return f"{used / whole * float(number):.1f} of {number} {unit}"


def _gpus(node: NodeNow, width: int, room: int | None) -> list[Text]:
    gpus = node.gpus
    if not gpus:
        return []
    said = f"{node.busy_gpus} of {len(gpus)} busy"
    style = "yellow" if 0 < node.busy_gpus < len(gpus) else ""
    slowed = [f"{gpu.device} slowed by {' and '.join(gpu.throttled_by)}" for gpu in gpus]
    reasons = [text for gpu, text in zip(gpus, slowed, strict=True) if gpu.throttled_by]
    title = Text.assemble("GPUs".ljust(_LABEL), (said, style))
    lines = [Text(), title.append("".join(f", {reason}" for reason in reasons), "red")]
    if room is not None and len(gpus) > room - 12:  # what the rest of a frame needs
        return lines + _gpu_cells(gpus, width)
    return lines + [_gpu(gpu, width) for gpu in gpus]


def _gpu(gpu: Gpu, width: int) -> Text:
    is_wide, is_very_wide = width >= 72, width >= 120
    detail = f" {_of(gpu.memory):>16}" if is_wide else ""
    power = f"{UNKNOWN if gpu.power_watts is None else f'{gpu.power_watts:.0f}'} W"
    heat = f"{UNKNOWN if gpu.temperature_celsius is None else f'{gpu.temperature_celsius:.0f}'} °C"
    curve = min(_MOST_CURVE, (width - 80) // 2) if is_very_wide else 0
    length = (width - _LABEL - 2 * _PERCENT - len(detail) - 20 - (curve + 2 if curve else 0)) // 2
    share = gpu.memory.percent
    line = Text.assemble(
        f"  {gpu.device}".ljust(_LABEL),
        *(bar(gpu.utilization_percent, length, GPU), percent(gpu.utilization_percent).rjust(6)),
        ("  mem ", QUIET),
        *(bar(share, length, fullness(share, MEMORY)), percent(share).rjust(6), detail),
        (power.rjust(7), "red" if "power" in gpu.throttled_by else ""),
        (heat.rjust(7), "red" if "heat" in gpu.throttled_by else ""),
    )
    if curve:
        line.append(Text("  ") + sparkline(gpu.history[-curve:], GPU))
    return line


def _gpu_cells(gpus: Sequence[Gpu], width: int) -> list[Text]:
    """Several GPUs per line, where a line each would not fit."""
    cell = 26
    per_line = max(1, (width - 2) // cell)
    cells = [
        Text.assemble(
            gpu.device.ljust(6),
            bar(gpu.utilization_percent, 10, GPU),
            percent(gpu.utilization_percent).rjust(6),
            "    ",
        )
        for gpu in gpus
    ]
    rows = [cells[first : first + per_line] for first in range(0, len(cells), per_line)]
    return [Text("  ") + Text().join(row) for row in rows]


def _traffic(node: NodeNow) -> list[Text]:
    traffic = node.traffic
    disk = [f"read {rate(traffic.disk_read):>10}", f"write {rate(traffic.disk_write):>10}"]
    if traffic.disk_busy_percent is not None:
        disk.append(f"busy {percent(traffic.disk_busy_percent):>5}")
    network = [f"in   {rate(traffic.network_in):>10}", f"out   {rate(traffic.network_out):>10}"]
    return [
        Text(f"{label:<{_LABEL}}{'   '.join(parts)}")
        for label, parts in (("Disk", disk), ("Network", network))
    ]


def _processes(node: NodeNow) -> Text:
    job = node.processes
    count = UNKNOWN if job.count is None else f"{job.count:.0f}"
    plural = "process" if count == "1" else "processes"
    parts = [f"{count} {plural}"]
    if job.threads is not None:
        parts.append(f"{job.threads:.0f} threads")
    parts += [f"CPU {percent(job.cpu_percent)} of a core", f"memory {size(job.rss_bytes)}"]
    return Text(f"{'Job':<{_LABEL}}{', '.join(parts)}")


def _spaces(node: NodeNow) -> list[Text]:
    if not node.spaces:
        return []
    line = Text("Free".ljust(_LABEL))
    for place, space in enumerate(node.spaces):
        taken = None if space.free_percent is None else 100 - space.free_percent
        text = f"{space.mount} {size(space.free_bytes)} ({percent(space.free_percent)})"
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
    changed = [(one["time"], "note", one["what"], one["text"]) for one in status["notices"]]
    said = sorted([*off, *lost, *changed], key=lambda one: one[0] or "")[-_MOST_NOTICES:]
    lines = [] if status["end_time"] else _dead_nodes(status)
    for time, kind, what, reason in said:
        line = Text.assemble((f"{local_hour(time)} ".lstrip(), QUIET))
        style = {"lost": "red", "not collected": "yellow"}.get(kind, QUIET)
        lines.append(line.append(f"{kind}: ", style).append(f"{what}: {reason}"))
    return lines
