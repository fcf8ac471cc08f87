"""The report as data: for checks in a pipeline, and per rule in SageMaker Debugger's format."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sonde import __version__
from sonde.drawing.printable import replace_non_finite
from sonde.records.advice import Advice
from sonde.records.chart import Facts, Group, Spec, Table
from sonde.report.sentences import outcome
from sonde.results.rule_coverage import coverage_in


def report_document(
    status: Mapping[str, Any],
    findings: Sequence[Mapping[str, Any]],
    specs: Mapping[str, Spec],
    advice: Advice,
    now: str,
) -> dict[str, Any]:
    """The numbers, findings, advice and notes of the page."""
    document = {
        "job": status["job"],
        "state": status["state"],
        "exit_code": status["exit_code"],
        "written": now,
        "sonde": __version__,
        "verdict": outcome(status, findings),
        "seen": status["seen"],
        "coverage": coverage_in(status).document(),
        "advice": asdict(advice),
        "findings": list(findings),
        "rules": [_rule(rule) for rule in status["rules"]],
        "tables": {
            name: table for key, spec in specs.items() for name, table in _tables(key, spec)
        },
        "notes": {name: spec.note for name, spec in specs.items() if spec.note},
    }
    return dict(replace_non_finite(document))


def rule_documents(rules: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """One document per rule, with the keys of SageMaker Debugger's rule reports."""
    return {
        rule["rule"]: dict(
            replace_non_finite(
                {
                    "RuleTriggered": rule["triggered"],
                    "Violations": len(rule["findings"]),
                    "Details": {**rule["summary"], "findings": rule["findings"]},
                    "Datapoints": rule["datapoints"],
                    "RuleParameters": "\n".join(f"{k}:{v}" for k, v in rule["parameters"].items()),
                }
            )
        )
        for rule in rules
    }


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rule": rule["rule"],
        "status": rule["status"],
        "triggered": rule["triggered"],
        "violations": len(rule["findings"]),
        "datapoints": rule["datapoints"],
        "parameters": rule["parameters"],
        "details": {**rule["summary"], "reason": rule["reason"], "findings": rule["findings"]},
    }


def _tables(name: str, spec: Spec) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(spec, Group):
        for index, inner in enumerate(spec.parts):
            yield from _tables(f"{name}/{index}", inner)
    elif isinstance(spec, Table):
        units = {column.name: column.unit for column in spec.columns if column.unit}
        yield name, {"title": spec.title, "units": units, "rows": spec.records()}
    elif isinstance(spec, Facts):
        rows = [{"name": fact.name, "value": fact.value, "unit": fact.unit} for fact in spec.facts]
        yield name, {"title": spec.title, "units": {}, "rows": rows}
