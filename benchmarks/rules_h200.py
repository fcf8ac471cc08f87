"""What rules say about short real jobs on a GPU, live: `python3 -m benchmarks.rules_h200 FOLDER`.

Leaves rules_h200.json in the folder. Windows are scaled to jobs of less than a minute: samples come
every 100 ms, and a window is 100 of them.
"""

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.gpu_jobs import KINDS
from benchmarks.hook_overhead import run
from benchmarks.report import Row, circumstances, table

_SECONDS = 40
_EXPECTED = {
    "healthy": frozenset[str](),
    "starved": frozenset(("DataLoaderStarvation", "LowGPUUtilization")),
    "small-batch": frozenset(("BatchSize",)),
    "growing-memory": frozenset(("GPUMemoryIncrease",)),
}
# what may be said beside it, as true as the fault itself
_ALLOWED = {
    "starved": frozenset(("Dataloader",)),
    "small-batch": frozenset(("LowGPUUtilization",)),
    "growing-memory": frozenset(("HostMemoryLeak",)),
}
_CAUSES = {"starved": ("LowGPUUtilization", "DataLoaderStarvation")}
_WINDOW = 100
_CONFIG = f"""
[system]
interval = "100ms"
[rules.LowGPUUtilization]
window = {_WINDOW}
[rules.BatchSize]
window = {_WINDOW}
"""


def main(folder: Path, commit: str | None) -> int:
    """Runs all jobs one after the other, in less than four minutes."""
    facts = circumstances()
    facts["commit"] = commit or facts["commit"]
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for kind in KINDS:
            findings = _findings(Path(scratch), kind)
            rows.append(_row(kind, findings))
            (folder / f"{kind}.json").write_text(json.dumps(findings, indent=1), encoding="utf-8")
    document = {"benchmark": "rules_h200", **facts, "rows": [asdict(row) for row in rows]}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / "rules_h200.json").write_text(text + "\n", encoding="utf-8")
    print(table(rows))
    return int(not all(row.is_met for row in rows))


def _findings(folder: Path, kind: str) -> list[dict[str, Any]]:
    config = folder / "sonde.toml"
    config.write_text(_CONFIG, encoding="utf-8")
    sonde = (sys.executable, "-m", "sonde")
    job = ("--store", str(folder), "--name", kind, "--config", str(config))
    training = (sys.executable, "-m", "benchmarks.gpu_jobs", kind, str(_SECONDS))
    run([*sonde, "run", *job, "--", *training])
    said = run([*sonde, "findings", str(folder / kind), "--json"])
    found: list[dict[str, Any]] = json.loads(said)["findings"]
    return found


def _row(kind: str, findings: list[dict[str, Any]]) -> Row:
    rules = {one["rule"] for one in findings if one["severity"] != "info"}
    rules_by_id = {one["id"]: one["rule"] for one in findings}
    causes = {(one["rule"], rules_by_id.get(one["cause"])) for one in findings}
    wanted = _EXPECTED[kind]
    is_right = wanted <= rules <= wanted | _ALLOWED.get(kind, frozenset())
    is_linked = kind not in _CAUSES or _CAUSES[kind] in causes
    said = "; ".join(one["message"] for one in findings) or "nothing was found"
    bar = " and ".join(sorted(wanted)) or "silence"
    if kind in _CAUSES:
        bar += ", the one because of the other"
    return Row(f"{kind}: findings", len(findings), "", bar, is_right and is_linked, note=said)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python3 -m benchmarks.rules_h200 FOLDER [COMMIT]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else None))
