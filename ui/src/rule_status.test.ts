import { expect, test } from "vitest";
import type { Finding, RuleDocument, RuleStatus } from "./api";
import { silentRules, statusSummary, triggeredRules } from "./rule_status";

function finding(id: string, more: Partial<Finding> = {}): Finding {
  return {
    id,
    rule: "Rule",
    message: "",
    severity: "warning",
    improvement: null,
    advice: "",
    step: null,
    time: ["2026-11-15T08:00:10Z", "2026-11-15T08:00:30Z"],
    node: null,
    worker: null,
    device: null,
    tensor: null,
    cause: null,
    triggered: 1,
    is_open: true,
    outcome: "ongoing",
    evidence: {},
    actions: [],
    ...more,
  };
}

function rule(
  name: string,
  status: RuleStatus,
  findings: Finding[] = [],
  more: Partial<RuleDocument> = {},
): RuleDocument {
  return {
    rule: name,
    status,
    setting: "calibrated",
    triggered: findings.length,
    datapoints: 10,
    parameters: {},
    description: "",
    recommendation: "",
    reason: null,
    traceback: null,
    seconds: 0,
    summary: {},
    missing: [],
    shortfall: null,
    findings,
    ...more,
  };
}

test("rules with findings come first in the order of the verdict, then failed rules", () => {
  const findings = [
    finding("b", { rule: "Alarms" }),
    finding("a", { rule: "Warns" }),
    finding("c", { rule: "Alarms" }),
  ];
  const triggered = triggeredRules(
    [
      rule("Quiet", "NoIssuesFound"),
      rule("Broken", "Error"),
      rule("Warns", "IssuesFound", [finding("a")]),
      rule("Alarms", "IssuesFound", [finding("b")]),
    ],
    findings,
  );
  expect(triggered.map((result) => result.rule)).toEqual(["Alarms", "Warns", "Broken"]);
});

test("rules without findings are grouped by status", () => {
  const silent = silentRules([
    rule("B", "NotApplicable"),
    rule("C", "NoIssuesFound"),
    rule("A", "NotApplicable"),
    rule("D", "Error"),
  ]);
  expect(silent.map(([status, rules]) => [status, rules.map((result) => result.rule)])).toEqual([
    ["NoIssuesFound", ["C"]],
    ["NotApplicable", ["A", "B"]],
  ]);
});

test("rules are counted by status, those with issues first", () => {
  const rules = [
    rule("A", "NoIssuesFound"),
    rule("B", "IssuesFound", [finding("a")]),
    rule("C", "NoIssuesFound"),
  ];
  expect(statusSummary(rules)).toBe("1 with issues, 2 without issues");
});
