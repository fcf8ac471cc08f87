"""Rows of measurements: the table on the screen, the JSON files and the page made from them."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

_TITLES = ("what", "measured", "alternative", "measured", "ratio", "bar", "met")


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity: ours, the alternative's where there is one, and what was promised."""

    what: str
    measured: float
    unit: str
    bar: str = ""
    is_met: bool | None = None  # None: told for comparison, nothing was promised
    alternative: str = ""
    alternative_measured: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times dearer the alternative is."""
        if self.alternative_measured is None or not self.measured:
            return None
        return self.alternative_measured / self.measured

    def cells(self) -> tuple[str, ...]:
        """As words, in the order of the titles."""
        other = self.alternative_measured
        return (
            self.what,
            _amount(self.measured, self.unit),
            self.alternative,
            "" if other is None else _amount(other, self.unit),
            "" if self.ratio is None else f"{self.ratio:.1f}×",
            self.bar,
            {None: "", True: "yes", False: "NO"}[self.is_met],
        )


def _amount(value: float, unit: str) -> str:
    number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{number} {unit}".strip()


def table(rows: Sequence[Row]) -> str:
    """Aligned for a terminal, remarks below."""
    lines = [_TITLES, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*text, *(f"  {row.what}: {row.note}" for row in rows if row.note)])


def circumstances() -> dict[str, Any]:
    """Where and when: without it no number means anything."""
    return {
        "commit": _commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpu": _cpu_model(),
            "cores": os.cpu_count(),
            "kernel": platform.release().partition("-")[0],
            "python": platform.python_version(),
        },
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


def save(name: str, rows: Sequence[Row], facts: dict[str, Any]) -> Path:
    """Keeps one benchmark's rows, with its circumstances."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    document = {"benchmark": name, **facts, "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def write_page() -> Path:
    """The page a person reads, from all JSON files that are there."""
    lines = [
        "# Measured",
        "",
        "Made by `python -m benchmarks` from the JSON files beside it; do not edit.",
        "Ratio: how many times dearer the alternative is, measured in the same run.",
    ]
    for path in sorted(RESULTS.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if "rows" in document:
            lines += _section(document)
    page = RESULTS / "README.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page


def _section(document: dict[str, Any]) -> list[str]:
    machine = document["machine"]
    rows = [Row(**row) for row in document["rows"]]
    load = ", ".join(f"{one:g}" for one in document["load_average"])
    more = "".join(f"{name} {machine[name]}, " for name in ("gpu", "torch") if name in machine)
    picture = RESULTS / f"{document['benchmark']}.svg"
    return [
        "",
        f"## {document['benchmark']}",
        "",
        f"{document['date'][:16]}, commit {document['commit']}, {machine['cpu']}, "
        f"{machine['cores']} cores, Linux {machine['kernel']}, Python {machine['python']}, "
        f"{more}load average {load}",
        "",
        "| " + " | ".join(_TITLES) + " |",
        "|" + "---|" * len(_TITLES),
        *("| " + " | ".join(row.cells()) + " |" for row in rows),
        "",
        *(f"- {row.what}: {row.note}" for row in rows if row.note),
        *([f"\n![{document['benchmark']}]({picture.name})"] if picture.exists() else []),
    ]


def _commit() -> str:
    def git(*words: str) -> str:
        try:
            done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.strip()

    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    is_changed = git(
        "status", "--porcelain", "--untracked-files=no", "--", "src", "benchmarks/*.py"
    )
    return f"{commit} with changes" if is_changed else commit


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())
