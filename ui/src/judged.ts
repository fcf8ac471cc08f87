// What rules say of a job: the order in which a person reads it.

import type { Finding, RuleDocument, Severity } from "./api";

export const SEVERITIES: readonly Severity[] = ["critical", "warning", "info"];

/** How a status reads. */
export const STATUS_WORDS: Record<string, string> = {
  InProgress: "still looking",
  IssuesFound: "issues found",
  NoIssuesFound: "no issue found",
  Error: "failed",
  Stopped: "stopped",
  NotApplicable: "not applicable",
  NotEnoughData: "not enough data",
};

const QUIET = ["NoIssuesFound", "InProgress", "NotEnoughData", "NotApplicable", "Stopped"];

/** The worst that a rule has found. */
export function worstOf(findings: readonly Finding[]): Severity | null {
  return SEVERITIES.find((severity) => findings.some((one) => one.severity === severity)) ?? null;
}

/** Rules that found something, in the order of the verdict (causes before what they explain), then those that failed. */
export function loudRules(
  rules: readonly RuleDocument[],
  findings: readonly Finding[],
): RuleDocument[] {
  const order = [...new Set(findings.map((one) => one.rule))];
  const place = (one: RuleDocument): number =>
    order.includes(one.rule) ? order.indexOf(one.rule) : order.length;
  return rules
    .filter((one) => one.findings.length > 0 || !QUIET.includes(one.status))
    .sort((one, other) => place(one) - place(other) || one.rule.localeCompare(other.rule));
}

/** The other rules, by their status: what looked and found nothing before what could not look. */
export function quietRules(rules: readonly RuleDocument[]): [string, RuleDocument[]][] {
  return QUIET.map((status): [string, RuleDocument[]] => [
    status,
    rules
      .filter((one) => one.status === status && one.findings.length === 0)
      .sort((one, other) => one.rule.localeCompare(other.rule)),
  ]).filter(([, found]) => found.length > 0);
}

const COUNTED: Record<string, string> = {
  IssuesFound: "found something",
  NoIssuesFound: "found nothing",
  InProgress: "still looking",
  Error: "failed",
  Stopped: "stopped",
  NotApplicable: "not applicable",
  NotEnoughData: "without enough data",
};

/** How many rules have which status, in words: "4 found something, 31 found nothing". */
export function standing(rules: readonly RuleDocument[]): string {
  const counts = new Map<string, number>();
  for (const one of rules) counts.set(one.status, (counts.get(one.status) ?? 0) + 1);
  return [...counts]
    .sort((one, other) => order(one[0]) - order(other[0]))
    .map(([status, count]) => `${count} ${COUNTED[status] ?? status}`)
    .join(", ");
}

function order(status: string): number {
  return ["IssuesFound", "Error", ...QUIET].indexOf(status);
}
