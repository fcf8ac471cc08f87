"""The output of `sonde doctor`."""

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from sonde.formats import format_bytes, format_duration, format_percent, pluralize
from sonde.terminal.styles import QUIET
from sonde.terminal.tables import table

_LABEL = 11


def doctor_lines(report: Mapping[str, Any], extras: Mapping[str, str]) -> list[Text]:
    """What works, what does not and why, and the cost of sampling."""
    lines = [
        _line(None, "sonde", f"{report['sonde']}, Python {report['python']}, {report['platform']}"),
        _store(report["store"]),
        _line(report["git"] is not None or None, "git", report["git"] or _without_git()),
        _line(None, "limits", _limits(report["limits"])),
        _line(report["nvidia"]["driver"] is not None or None, "NVIDIA", _nvidia(report["nvidia"])),
        *(_extra(name, report["extras"][name], extra) for name, extra in extras.items()),
        *(_line(None, name, value) for name, value in report["variables"].items()),
        Text(),
    ]
    return [*lines, *_collectors(report["collectors"]), Text(), _tick(report["tick"])]


def _line(is_ok: bool | None, label: str, text: str) -> Text:
    """A check mark, a label and a text; no mark if the value is neither good nor bad."""
    mark, style = {True: ("✓", "green"), False: ("✗", "red"), None: (" ", "")}[is_ok]
    return Text.assemble((mark, style), f" {label:<{_LABEL}} {text}")


def _store(store: Mapping[str, Any]) -> Text:
    if not store["writable"]:
        return _line(False, "store", f"{store['uri']} is not writable: {store['reason']}")
    free = f", {format_bytes(store['free_bytes'])} free" if store["free_bytes"] is not None else ""
    return _line(True, "store", f"{store['uri']} is writable{free}")


def _without_git() -> str:
    return "not installed; jobs are recorded without their commit"


def _limits(limits: Mapping[str, float | None]) -> str:
    limit_texts = []
    if limits["cores_available"] is not None:
        limit_texts.append(f"{pluralize(limits['cores_available'], 'core')} available")
    quota, memory = limits["cpu_quota_cores"], limits["memory_limit_bytes"]
    limit_texts.append("no CPU quota" if quota is None else f"CPU quota {pluralize(quota, 'core')}")
    limit_texts.append(
        "no memory limit" if memory is None else f"memory limit {format_bytes(memory)}"
    )
    return ", ".join(limit_texts)


def _nvidia(nvidia: Mapping[str, str | None]) -> str:
    library = nvidia["nvidia-ml-py"]
    driver = f"driver {nvidia['driver']}" if nvidia["driver"] else "no driver"
    return f"{driver}, nvidia-ml-py {library or 'not installed'}"


def _extra(package: str, installed: str | None, extra: str) -> Text:
    missing = f"not installed; to install: pip install 'sonde[{extra}]'"
    return _line(True if installed else None, package, installed or missing)


def _collectors(collectors: list[Mapping[str, Any]]) -> list[Text]:
    working = [collector for collector in collectors if collector["works"]]
    rows = [("collector", "series", "time per read")]
    rows += [
        (
            collector["collector"],
            str(collector["series"]),
            format_duration(collector["milliseconds"] / 1000),
        )
        for collector in working
    ]
    head, *lines = table(rows, left_columns=1)
    marked_lines = [Text.assemble(("✓ ", "green"), line) for line in lines]
    width = max((len(collector["collector"]) for collector in collectors), default=0)
    absent = [
        Text.assemble(
            f"  {collector['collector']:<{width}}  ",
            (f"not available: {collector['reason']}", QUIET),
        )
        for collector in collectors
        if not collector["works"]
    ]
    return [Text("  ") + head, *marked_lines, *absent]


def _tick(tick: Mapping[str, float]) -> Text:
    duration = format_duration(tick["milliseconds"] / 1000)
    interval = format_duration(tick["interval_milliseconds"] / 1000)
    share = format_percent(tick["percent_of_a_core"])
    return Text(f"Sampling overhead: {duration} every {interval}, {share} of one core")
