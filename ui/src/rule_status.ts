// The rules of a job in reading order, and their status as text.

import type { Finding, RuleDocument, RuleStatus, Severity } from "./api";

export const SEVERITIES: readonly Severity[] = ["critical", "warning", "info"];

/** Labels of rule statuses. */
export const STATUS_LABELS: Record<RuleStatus, string> = {
  InProgress: "in progress",
  IssuesFound: "issues found",
  NoIssuesFound: "no issues found",
  Error: "failed",
  Stopped: "stopped",
  NotApplicable: "not applicable",
  NotEnoughData: "not enough data",
};

const SILENT: readonly RuleStatus[] = [
  "NoIssuesFound",
  "InProgress",
  "NotEnoughData",
  "NotApplicable",
  "Stopped",
];

/** The highest severity among findings. */
export function worstOf(findings: readonly Finding[]): Severity | null {
  return (
    SEVERITIES.find((severity) => findings.some((finding) => finding.severity === severity)) ?? null
  );
}

/** Rules with findings in the order of the verdict (causes before consequences), then failed rules. */
export function triggeredRules(
  rules: readonly RuleDocument[],
  findings: readonly Finding[],
): RuleDocument[] {
  const order = [...new Set(findings.map((finding) => finding.rule))];
  const rankOf = (rule: RuleDocument): number =>
    order.includes(rule.rule) ? order.indexOf(rule.rule) : order.length;
  return rules
    .filter((rule) => rule.findings.length > 0 || !SILENT.includes(rule.status))
    .sort((a, b) => rankOf(a) - rankOf(b) || a.rule.localeCompare(b.rule));
}

/** Rules without findings, grouped by status: first those that ran, then those that could not. */
export function silentRules(rules: readonly RuleDocument[]): [RuleStatus, RuleDocument[]][] {
  return SILENT.map((status): [RuleStatus, RuleDocument[]] => [
    status,
    rules
      .filter((rule) => rule.status === status && rule.findings.length === 0)
      .sort((a, b) => a.rule.localeCompare(b.rule)),
  ]).filter(([, matches]) => matches.length > 0);
}

const SUMMARY_LABELS: Record<RuleStatus, string> = {
  IssuesFound: "with issues",
  NoIssuesFound: "without issues",
  InProgress: "in progress",
  Error: "failed",
  Stopped: "stopped",
  NotApplicable: "not applicable",
  NotEnoughData: "without enough data",
};

/** The number of rules by status: "4 with issues, 31 without issues". */
export function statusSummary(rules: readonly RuleDocument[]): string {
  const counts = new Map<RuleStatus, number>();
  for (const rule of rules) counts.set(rule.status, (counts.get(rule.status) ?? 0) + 1);
  return [...counts]
    .sort((a, b) => statusOrder(a[0]) - statusOrder(b[0]))
    .map(([status, count]) => `${count} ${SUMMARY_LABELS[status]}`)
    .join(", ");
}

function statusOrder(status: RuleStatus): number {
  return ["IssuesFound", "Error", ...SILENT].indexOf(status);
}
