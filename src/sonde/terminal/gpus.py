"""GPUs in the terminal, each shown separately."""

from collections.abc import Sequence

from rich.text import Text

from sonde.formats import format_bytes, format_percent, format_value
from sonde.results.live import Gpu, Level, NodeNow
from sonde.terminal.bars import bar, sparkline
from sonde.terminal.styles import GPU, LABEL, MEMORY, PERCENT, QUIET, fullness

_MAX_CURVE = 60


def gpu_lines(node: NodeNow, width: int, room: int | None) -> list[Text]:
    """The number of busy GPUs, then each GPU; several per line if there is not enough room."""
    gpus = node.gpus
    if not gpus:
        return []
    summary = f"{node.busy_gpus} of {len(gpus)} busy"
    style = "yellow" if 0 < node.busy_gpus < len(gpus) else ""
    slowed = [f"{gpu.device} throttled by {' and '.join(gpu.throttled_by)}" for gpu in gpus]
    reasons = [text for gpu, text in zip(gpus, slowed, strict=True) if gpu.throttled_by]
    title = Text.assemble("GPUs".ljust(LABEL), (summary, style))
    lines = [Text(), title.append("".join(f", {reason}" for reason in reasons), "red")]
    if room is not None and len(gpus) > room - 12:  # lines that the rest of the frame needs
        return lines + _gpu_cells(gpus, width)
    return lines + [_gpu(gpu, width) for gpu in gpus]


def _gpu(gpu: Gpu, width: int) -> Text:
    is_wide, is_very_wide = width >= 72, width >= 120
    detail = f" {format_level(gpu.memory):>16}" if is_wide else ""
    power = format_value(gpu.power_watts, "watts")
    heat = format_value(gpu.temperature_celsius, "celsius")
    curve = min(_MAX_CURVE, (width - 80) // 2) if is_very_wide else 0
    length = (width - LABEL - 2 * PERCENT - len(detail) - 22 - (curve + 2 if curve else 0)) // 2
    share = gpu.memory.percent
    line = Text.assemble(
        f"  {gpu.device}".ljust(LABEL),
        *(
            bar(gpu.utilization_percent, length, GPU),
            format_percent(gpu.utilization_percent).rjust(6),
        ),
        ("  mem ", QUIET),
        *(bar(share, length, fullness(share, MEMORY)), format_percent(share).rjust(6), detail),
        (power.rjust(8), "red" if "power" in gpu.throttled_by else ""),
        (heat.rjust(8), "red" if "heat" in gpu.throttled_by else ""),
    )
    if curve:
        line.append(Text("  ") + sparkline(gpu.history[-curve:], GPU))
    return line


def _gpu_cells(gpus: Sequence[Gpu], width: int) -> list[Text]:
    """Several GPUs per line."""
    cell = 26
    per_line = max(1, (width - 2) // cell)
    cells = [
        Text.assemble(
            gpu.device.ljust(6),
            bar(gpu.utilization_percent, 10, GPU),
            format_percent(gpu.utilization_percent).rjust(6),
            "    ",
        )
        for gpu in gpus
    ]
    rows = [cells[first : first + per_line] for first in range(0, len(cells), per_line)]
    return [Text("  ") + Text().join(row) for row in rows]


def format_level(level: Level) -> str:
    """Used and total memory in the same unit, so that rows are easy to compare."""
    used, total_bytes = level.used_bytes, level.total_bytes
    total = format_bytes(total_bytes)
    if used is None or not total_bytes:
        return f"{format_bytes(used)} of {total}"
    number, unit = total.split()
    return f"{used / total_bytes * float(number):.1f} of {number} {unit}"
