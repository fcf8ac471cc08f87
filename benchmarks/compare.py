"""Compare two checkouts: `python -m benchmarks.compare FOLDER NAME …`.

Runs each benchmark in this checkout and in another one, in turn, so that both see the same machine.
Each checkout uses the interpreter of its own `.venv`, where it is installed: some benchmarks start
commands without PYTHONPATH. A row is the median of its runs; the note has their range.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import Row, describe_environment, save, table, write_page

_HERE = Path(__file__).parent.parent
_RUN = """
import json, sys
from dataclasses import asdict
from importlib import import_module
rows = import_module("benchmarks." + sys.argv[1]).main()
print(json.dumps([asdict(row) for row in rows]))
"""


def main() -> int:
    """Run the benchmarks and save the comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("folder", type=Path, help="the other checkout")
    parser.add_argument("names", nargs="+", metavar="NAME", help="benchmarks to run")
    parser.add_argument("--label", default="before", help="label of the other checkout")
    parser.add_argument("--repeats", type=int, default=3, help="runs per checkout")
    parser.add_argument("--save", metavar="NAME", help="save the table in benchmarks/results")
    options = parser.parse_args()
    other_checkout = options.folder.resolve()
    for checkout in (other_checkout, _HERE):
        if not _python_of(checkout).exists():
            parser.error(f"{checkout} has no .venv. Run: make -C {checkout} setup")
    facts = describe_environment()
    rows: list[Row] = []
    for name in options.names:
        runs: dict[Path, list[list[dict[str, Any]]]] = {other_checkout: [], _HERE: []}
        for number in range(options.repeats):
            for folder, documents in runs.items():
                print(f"{name}, run {number + 1}, {folder} …", file=sys.stderr, flush=True)
                documents.append(rows_of(folder, name))
        rows += compare(name, runs[other_checkout], runs[_HERE], options.label)
        if options.save:
            save(options.save, rows, facts)
    print(table(rows))
    if options.save:
        write_page()
    return 0


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    """Run a benchmark once in a checkout and return its rows."""
    paths = [str(folder / "src"), str(folder), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [str(_python_of(folder)), "-c", _RUN, name],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    documents: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return documents


def _python_of(checkout: Path) -> Path:
    return checkout / ".venv" / "bin" / "python"


def compare(
    name: str,
    before: Sequence[Sequence[dict[str, Any]]],
    after: Sequence[Sequence[dict[str, Any]]],
    label: str,
) -> list[Row]:
    """Return one row per quantity that both checkouts measure, paired by position."""
    rows = []
    for old, new in zip(zip(*before, strict=True), zip(*after, strict=True), strict=False):
        old_values = [row["measured"] for row in old]
        new_values = [row["measured"] for row in new]
        rows.append(
            Row(
                what=f"{name}: {new[0]['what']}",
                measured=statistics.median(new_values),
                unit=new[0]["unit"],
                alternative=label,
                alternative_measured=statistics.median(old_values),
                note=f"{_range(new_values)} now, {_range(old_values)} {label}",
            )
        )
    return rows


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.3g} to {max(values):.3g}"


if __name__ == "__main__":
    sys.exit(main())
