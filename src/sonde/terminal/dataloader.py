"""What `sonde dataloader` prints: loader by loader, what it costs and what to do."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.formats import format_duration, format_percent, pluralize
from sonde.records.loading import SINGLE_ITEMS
from sonde.terminal.styles import QUIET
from sonde.terminal.text import table

_MOST_FUNCTIONS = 8
_LEAST_PERCENT = 5.0
_MOST_OUTLIERS = 5
_NUMBERS = ("p25", "p50", "p95", "maximum")


def loader_lines(loaders: Sequence[Mapping[str, Any]]) -> list[Text]:
    """All of them; what to do comes last, where a terminal ends."""
    if not loaders:
        return [Text("no data loader has been seen")]
    lines: list[Text] = []
    for one in loaders:
        lines += [Text(), *_loader(one)] if lines else _loader(one)
    return lines


def _loader(one: Mapping[str, Any]) -> list[Text]:
    title = f"loader {one['loader']} of worker {one['worker']}: {', '.join(_facts(one))}"
    lines = [Text(title, "bold"), Text()]
    rows = [
        (
            *(row["operation"], f"{row['count']:,}"),
            *(format_duration(row[name]) for name in _NUMBERS),
            "–" if row["operation"] in SINGLE_ITEMS else format_duration(row["total"]),
        )
        for row in one["operations"]
    ]
    titles = ("", "count", "p25", "p50", "p95", "max", "total")
    lines += table([titles, *rows], left=1) if rows else []
    lines += _functions(one) + _outliers(one)
    return [*lines, Text(), *(Text(f"- {advice['text']}") for advice in one["advice"])]


def _facts(one: Mapping[str, Any]) -> list[str]:
    said = [str(one["dataset"] or "data"), f"for {one['mode']}"]
    if one["processes"]:
        said.append(
            f"{pluralize(one['processes'], 'process', 'processes')} ({one['start_method']})"
        )
    else:
        said.append("no processes of its own")
    said.append(pluralize(one["cores"], "core"))
    if one["batch_size"] is not None:
        said.append(f"batches of {one['batch_size']}")
    if one["busy_percent"] is not None:
        said.append(f"busy {format_percent(one['busy_percent'])} of the time")
    if one["waited_percent"] is not None:
        said.append(f"steps wait {format_percent(one['waited_percent'], 1)} of theirs")
    return said


def _functions(one: Mapping[str, Any]) -> list[Text]:
    rows = [
        (f"{row['name']}", f"{row['file']}:{row['line']}", *_shares(row))
        for row in one["functions"][:_MOST_FUNCTIONS]
        if row["percent"] >= _LEAST_PERCENT
    ]
    titles = ("inside of a batch", "", "with calls", "own")
    return [Text(), *table([titles, *rows], left=2)] if rows else []


def _shares(row: Mapping[str, Any]) -> tuple[str, str]:
    return format_percent(row["percent"]), format_percent(row["own_percent"])


def _outliers(one: Mapping[str, Any]) -> list[Text]:
    lines = []
    for what, rows in (("iterator start", one["slow_starts"]), ("wait", one["slow_waits"])):
        longest = sorted(rows, key=lambda row: -float(row["seconds"]))[:_MOST_OUTLIERS]
        said = ", ".join(
            format_duration(row["seconds"]) + (f" at step {row['step']}" if "step" in row else "")
            for row in longest
        )
        more = f", and {len(rows) - len(longest)} more" if len(rows) > len(longest) else ""
        if said:
            lines.append(Text(f"{what} out of line: {said}{more}", QUIET))
    return [Text(), *lines] if lines else []
