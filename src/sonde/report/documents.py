"""The report as data: for gates of a pipeline, and per rule as the old service wrote it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sonde import __version__
from sonde.drawing.printable import writable
from sonde.records.chart import Facts, Group, Spec, Table
from sonde.report.sentences import opening
from sonde.results.rule_coverage import coverage_in


def report_document(
    status: Mapping[str, Any],
    findings: Sequence[Mapping[str, Any]],
    specs: Mapping[str, Spec],
    now: str,
) -> dict[str, Any]:
    """Everything that the page says in numbers."""
    document = {
        "job": status["job"],
        "state": status["state"],
        "exit_code": status["exit_code"],
        "written": now,
        "sonde": __version__,
        "verdict": opening(status, findings),
        "seen": status["seen"],
        "coverage": coverage_in(status).document(),
        "findings": list(findings),
        "rules": [_rule(one) for one in status["rules"]],
        "tables": {
            name: table for key, spec in specs.items() for name, table in _tables(key, spec)
        },
        "notes": {name: spec.note for name, spec in specs.items() if spec.note},
    }
    return dict(writable(document))


def rule_documents(rules: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Per rule, with the keys that readers of the old service's files know."""
    return {
        one["rule"]: dict(
            writable(
                {
                    "RuleTriggered": one["triggered"],
                    "Violations": len(one["findings"]),
                    "Details": {**one["summary"], "findings": one["findings"]},
                    "Datapoints": one["datapoints"],
                    "RuleParameters": "\n".join(f"{k}:{v}" for k, v in one["parameters"].items()),
                }
            )
        )
        for one in rules
    }


def _rule(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rule": one["rule"],
        "status": one["status"],
        "triggered": one["triggered"],
        "violations": len(one["findings"]),
        "datapoints": one["datapoints"],
        "parameters": one["parameters"],
        "details": {**one["summary"], "reason": one["reason"], "findings": one["findings"]},
    }


def _tables(name: str, spec: Spec) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(spec, Group):
        for place, part in enumerate(spec.parts):
            yield from _tables(f"{name}/{place}", part)
    elif isinstance(spec, Table):
        units = {one.name: one.unit for one in spec.columns if one.unit}
        yield name, {"title": spec.title, "units": units, "rows": spec.records()}
    elif isinstance(spec, Facts):
        rows = [{"name": one.name, "value": one.value, "unit": one.unit} for one in spec.facts]
        yield name, {"title": spec.title, "units": {}, "rows": rows}
