"""Findings of rules in short real jobs on a GPU: `python3 -m benchmarks.rules_h200 FOLDER`.

Writes rules_h200.json to the folder. Windows are scaled to jobs of less than a minute:
samples every 100 ms, 100 samples per window.
"""

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.gpu_jobs import KINDS
from benchmarks.hook_overhead import run
from benchmarks.report import Row, describe_environment, table

_SECONDS = 40
_EXPECTED = {
    "healthy": frozenset[str](),
    "starved": frozenset(("DataLoaderStarvation", "LowGPUUtilization")),
    "small-batch": frozenset(("BatchSize",)),
    "growing-memory": frozenset(("GPUMemoryIncrease",)),
}
# additional findings that are also correct
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
    """Run all jobs; takes less than four minutes."""
    facts = describe_environment()
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
    output = run([*sonde, "findings", str(folder / kind), "--json"])
    findings: list[dict[str, Any]] = json.loads(output)["findings"]
    return findings


def _row(kind: str, findings: list[dict[str, Any]]) -> Row:
    rules = {finding["rule"] for finding in findings if finding["severity"] != "info"}
    rules_by_id = {finding["id"]: finding["rule"] for finding in findings}
    causes = {(finding["rule"], rules_by_id.get(finding["cause"])) for finding in findings}
    expected = _EXPECTED[kind]
    is_right = expected <= rules <= expected | _ALLOWED.get(kind, frozenset())
    is_linked = kind not in _CAUSES or _CAUSES[kind] in causes
    messages = "; ".join(finding["message"] for finding in findings) or "no findings"
    bar = " and ".join(sorted(expected)) or "no findings"
    if kind in _CAUSES:
        bar += ", linked as consequence and cause"
    return Row(f"{kind}: findings", len(findings), "", bar, is_right and is_linked, note=messages)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python3 -m benchmarks.rules_h200 FOLDER [COMMIT]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else None))
