"""What `sonde doctor` prints."""

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from sonde.formats import format_bytes
from sonde.terminal.styles import QUIET
from sonde.terminal.text import table

_LABEL = 11


def doctor_lines(found: Mapping[str, Any], extras: Mapping[str, str]) -> list[Text]:
    """One thing per line: what works, what does not and why, and what sampling would cost."""
    lines = [
        _line(None, "sonde", f"{found['sonde']}, Python {found['python']}, {found['platform']}"),
        _store(found["store"]),
        _line(found["git"] is not None or None, "git", found["git"] or _without_git()),
        _line(None, "limits", _limits(found["limits"])),
        _line(found["nvidia"]["driver"] is not None or None, "NVIDIA", _nvidia(found["nvidia"])),
        *(_extra(name, found["extras"][name], extra) for name, extra in extras.items()),
        *(_line(None, name, value) for name, value in found["variables"].items()),
        Text(),
    ]
    return [*lines, *_collectors(found["collectors"]), Text(), _tick(found["tick"])]


def _line(is_well: bool | None, label: str, text: str) -> Text:
    """A mark, a label and a text; no mark where nothing is right or wrong."""
    mark, style = {True: ("✓", "green"), False: ("✗", "red"), None: (" ", "")}[is_well]
    return Text.assemble((mark, style), f" {label:<{_LABEL}} {text}")


def _store(store: Mapping[str, Any]) -> Text:
    if not store["writable"]:
        return _line(False, "store", f"{store['uri']} cannot be written: {store['reason']}")
    free = f", {format_bytes(store['free_bytes'])} free" if store["free_bytes"] is not None else ""
    return _line(True, "store", f"{store['uri']} is writable{free}")


def _without_git() -> str:
    return "not found; jobs are recorded without their commit"


def _limits(limits: Mapping[str, float | None]) -> str:
    said = []
    if limits["cores_available"] is not None:
        said.append(f"{limits['cores_available']:g} cores to use")
    quota, memory = limits["cpu_quota_cores"], limits["memory_limit_bytes"]
    said.append("no CPU quota" if quota is None else f"quota of {quota:g} cores")
    said.append("no memory limit" if memory is None else f"memory limit of {format_bytes(memory)}")
    return ", ".join(said)


def _nvidia(nvidia: Mapping[str, str | None]) -> str:
    library = nvidia["nvidia-ml-py"]
    said = f"driver {nvidia['driver']}" if nvidia["driver"] else "no driver"
    return f"{said}, nvidia-ml-py {library or 'is not installed'}"


def _extra(package: str, installed: str | None, extra: str) -> Text:
    missing = f"not installed; get it with: pip install 'sonde[{extra}]'"
    return _line(True if installed else None, package, installed or missing)


def _collectors(collectors: list[Mapping[str, Any]]) -> list[Text]:
    working = [one for one in collectors if one["works"]]
    rows = [("collector", "series", "a reading")]
    rows += [
        (one["collector"], str(one["series"]), f"{one['milliseconds']:.2f} ms") for one in working
    ]
    head, *lines = table(rows, left=1)
    marked = [Text.assemble(("✓ ", "green"), line) for line in lines]
    width = max((len(one["collector"]) for one in collectors), default=0)
    absent = [
        Text.assemble(f"  {one['collector']:<{width}}  ", (f"not here: {one['reason']}", QUIET))
        for one in collectors
        if not one["works"]
    ]
    return [Text("  ") + head, *marked, *absent]


def _tick(tick: Mapping[str, float]) -> Text:
    whole, interval = tick["milliseconds"], tick["interval_milliseconds"]
    share = tick["percent_of_a_core"]
    return Text(
        f"One tick of everything takes {whole:.1f} ms, every {interval:.0f} ms or more seldom: "
        f"{share:.2f} % of a core."
    )
