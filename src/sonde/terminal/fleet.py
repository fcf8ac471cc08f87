"""Many nodes in the terminal: one line per node, problems first."""

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from sonde.formats import UNKNOWN, format_byte_rate, format_percent
from sonde.records.job import JobState
from sonde.results.live import NodeNow
from sonde.terminal.bars import bar
from sonde.terminal.styles import CPU, GPU, MEMORY, PERCENT, QUIET, fullness, state_style

_BAD_STATES = (JobState.FAILED, JobState.LOST, JobState.STOPPED)
_NEARLY_FULL = 90.0
_MAX_NAME_WIDTH = 24
_TRAFFIC = 12
_MIN_WIDTH_FOR_TRAFFIC = 100  # columns of the terminal


def worst_first(nodes: Sequence[NodeNow]) -> list[NodeNow]:
    """Sort nodes: failed, not reporting, low on memory, then least busy first."""
    return sorted(nodes, key=_badness)


def _badness(node: NodeNow) -> tuple[int, float, str]:
    if node.state in _BAD_STATES:
        rank = _BAD_STATES.index(node.state)
    elif node.is_silent:
        rank = 4
    elif (node.memory.worst_percent or 0.0) >= _NEARLY_FULL:
        rank = 5
    else:
        rank = 6
    return rank, _work(node), node.node


def _work(node: NodeNow) -> float:
    """The utilization of the GPUs, or of the CPU if there are none."""
    used = [gpu.utilization_percent or 0.0 for gpu in node.gpus]
    return sum(used) / len(used) if used else node.processor.percent or 0.0


def fleet_lines(nodes: Sequence[NodeNow], width: int, room: int | None) -> list[Text]:
    """A summary, a header, and a line per node, as many as fit."""
    states = Counter(node.state.value for node in nodes)
    summary = Text(", ").join(
        Text(f"{count} {state}", state_style(state)) for state, count in states.most_common()
    )
    silent = sum(node.is_silent for node in nodes)
    if silent:
        summary.append(f", {silent} not reporting", "yellow")
    has_gpus = any(node.gpus for node in nodes)
    name = min(_MAX_NAME_WIDTH, max((len(node.node) for node in nodes), default=4))
    has_traffic = width >= _MIN_WIDTH_FOR_TRAFFIC
    length = _bar_width(width - name - 12, 3 if has_gpus else 2, has_traffic=has_traffic)
    ordered = worst_first(nodes)
    shown = ordered if room is None else ordered[: max(1, room - 3)]
    lines = [summary, _titles(name, length, has_gpus=has_gpus, has_traffic=has_traffic)]
    lines += [
        _line(node, name, length, has_gpus=has_gpus, has_traffic=has_traffic) for node in shown
    ]
    if len(shown) < len(ordered):
        more = len(ordered) - len(shown)
        lines.append(Text(f"… and {more} more; to show one: sonde watch JOB --node NAME", QUIET))
    return lines


def _bar_width(rest: int, bars: int, *, has_traffic: bool) -> int:
    rest -= 2 * _TRAFFIC if has_traffic else 0
    rest -= 6 if bars == 3 else 0  # number of busy GPUs
    return max(3, min(30, rest // bars - PERCENT - 2))


def _titles(name: int, length: int, *, has_gpus: bool, has_traffic: bool) -> Text:
    column = length + PERCENT + 2
    text = "node".ljust(name + 2) + "state".ljust(10)
    if has_gpus:
        text += "GPU".ljust(column) + "busy".ljust(6)
    text += "CPU".ljust(column) + "memory".ljust(column)
    if has_traffic:
        text += "disk".rjust(_TRAFFIC) + "network".rjust(_TRAFFIC)
    return Text(text.rstrip(), QUIET)


def _line(node: NodeNow, name: int, length: int, *, has_gpus: bool, has_traffic: bool) -> Text:
    state = "silent" if node.is_silent else node.state.value
    style = "yellow" if node.is_silent else state_style(state)
    label = node.node if len(node.node) <= name else f"{node.node[: name - 1]}…"
    line = Text.assemble(label.ljust(name + 2), (state.ljust(10), style))
    if has_gpus:
        busy = f"{node.busy_gpus}/{len(node.gpus)}" if node.gpus else UNKNOWN
        line.append(_cell(_work(node) if node.gpus else None, length, GPU))
        line.append(busy.ljust(6), "yellow" if 0 < node.busy_gpus < len(node.gpus) else "")
    share = node.memory.worst_percent
    line.append(_cell(node.processor.percent, length, CPU))
    line.append(_cell(share, length, fullness(share, MEMORY)))
    if has_traffic:
        traffic = node.traffic
        line.append(format_byte_rate(_sum(traffic.disk_read, traffic.disk_write)).rjust(_TRAFFIC))
        line.append(format_byte_rate(_sum(traffic.network_in, traffic.network_out)).rjust(_TRAFFIC))
    line.rstrip()
    return line


def _cell(value: float | None, length: int, style: str) -> Text:
    return Text.assemble(bar(value, length, style), format_percent(value).rjust(PERCENT), "  ")


def _sum(first: float | None, second: float | None) -> float | None:
    values = [value for value in (first, second) if value is not None]
    return sum(values) if values else None
