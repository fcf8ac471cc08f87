"""The output of `sonde dataloader`: timings and recommendations per loader."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.formats import format_duration, format_percent, pluralize
from sonde.records.loading import SINGLE_ITEMS
from sonde.terminal.styles import QUIET
from sonde.terminal.tables import table

_MAX_FUNCTIONS = 8
_MIN_PERCENT = 5.0
_MAX_OUTLIERS = 5
_STATISTICS = ("p25", "p50", "p95", "maximum")


def loader_lines(loaders: Sequence[Mapping[str, Any]]) -> list[Text]:
    """The lines of all loaders. Recommendations come last, at the end of the terminal."""
    if not loaders:
        return [Text("No data loaders recorded")]
    lines: list[Text] = []
    for loader in loaders:
        lines += [Text(), *_loader(loader)] if lines else _loader(loader)
    return lines


def _loader(loader: Mapping[str, Any]) -> list[Text]:
    title = f"Loader {loader['loader']} of worker {loader['worker']}: {', '.join(_facts(loader))}"
    lines = [Text(title, "bold"), Text()]
    rows = [
        (
            *(row["operation"], f"{row['count']:,}"),
            *(format_duration(row[name]) for name in _STATISTICS),
            "–" if row["operation"] in SINGLE_ITEMS else format_duration(row["total"]),
        )
        for row in loader["operations"]
    ]
    titles = ("", "count", "p25", "p50", "p95", "max", "total")
    lines += table([titles, *rows], left_columns=1) if rows else []
    lines += _functions(loader) + _outliers(loader)
    return [*lines, Text(), *(Text(f"- {advice['text']}") for advice in loader["advice"])]


def _facts(loader: Mapping[str, Any]) -> list[str]:
    facts = [str(loader["dataset"] or "data"), f"for {loader['mode']}"]
    if loader["processes"]:
        processes = pluralize(loader["processes"], "worker process", "worker processes")
        facts.append(f"{processes} ({loader['start_method']})")
    else:
        facts.append("no worker processes")
    facts.append(pluralize(loader["cores"], "core"))
    if loader["batch_size"] is not None:
        facts.append(f"batch size {loader['batch_size']}")
    if loader["busy_percent"] is not None:
        facts.append(f"busy {format_percent(loader['busy_percent'])} of the time")
    if loader["waited_percent"] is not None:
        facts.append(f"{format_percent(loader['waited_percent'])} of step time spent waiting")
    return facts


def _functions(loader: Mapping[str, Any]) -> list[Text]:
    rows = [
        (f"{row['name']}", f"{row['file']}:{row['line']}", *_shares(row))
        for row in loader["functions"][:_MAX_FUNCTIONS]
        if row["percent"] >= _MIN_PERCENT
    ]
    titles = ("function", "location", "total", "self")
    return [Text(), *table([titles, *rows], left_columns=2)] if rows else []


def _shares(row: Mapping[str, Any]) -> tuple[str, str]:
    return format_percent(row["percent"]), format_percent(row["own_percent"])


def _outliers(loader: Mapping[str, Any]) -> list[Text]:
    lines = []
    for label, rows in (
        ("iterator start", loader["slow_starts"]),
        ("data wait", loader["slow_waits"]),
    ):
        longest = sorted(rows, key=lambda row: -float(row["seconds"]))[:_MAX_OUTLIERS]
        durations = ", ".join(
            format_duration(row["seconds"]) + (f" at step {row['step']}" if "step" in row else "")
            for row in longest
        )
        more = f", and {len(rows) - len(longest)} more" if len(rows) > len(longest) else ""
        if durations:
            lines.append(Text(f"Unusually long {label}: {durations}{more}", QUIET))
    return [Text(), *lines] if lines else []
