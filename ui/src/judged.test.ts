import { expect, test } from "vitest";
import type { Finding, RuleDocument } from "./api";
import { loudRules, quietRules, standing } from "./judged";

function finding(id: string, more: Partial<Finding> = {}): Finding {
  return {
    id,
    rule: "Rule",
    message: "",
    severity: "warning",
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
  status: string,
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
    findings,
    ...more,
  };
}

test("rules that found something come first, in the order of the verdict, then what failed", () => {
  const findings = [
    finding("b", { rule: "Alarms" }),
    finding("a", { rule: "Warns" }),
    finding("c", { rule: "Alarms" }),
  ];
  const found = loudRules(
    [
      rule("Quiet", "NoIssuesFound"),
      rule("Broken", "Error"),
      rule("Warns", "IssuesFound", [finding("a")]),
      rule("Alarms", "IssuesFound", [finding("b")]),
    ],
    findings,
  );
  expect(found.map((one) => one.rule)).toEqual(["Alarms", "Warns", "Broken"]);
});

test("quiet rules are put together by why they are quiet", () => {
  const found = quietRules([
    rule("B", "NotApplicable"),
    rule("C", "NoIssuesFound"),
    rule("A", "NotApplicable"),
    rule("D", "Error"),
  ]);
  expect(found.map(([status, rules]) => [status, rules.map((one) => one.rule)])).toEqual([
    ["NoIssuesFound", ["C"]],
    ["NotApplicable", ["A", "B"]],
  ]);
});

test("how the rules stand is counted, findings first", () => {
  const rules = [
    rule("A", "NoIssuesFound"),
    rule("B", "IssuesFound", [finding("a")]),
    rule("C", "NoIssuesFound"),
  ];
  expect(standing(rules)).toBe("1 found something, 2 found nothing");
});
