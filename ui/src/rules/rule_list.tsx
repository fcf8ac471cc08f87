// All rules: those with findings first, the others grouped by status and collapsed.

import type { JSX } from "preact";
import type { Finding, RuleDocument } from "../api";
import { pluralize } from "../format";
import { STATUS_LABELS, silentRules, statusSummary, triggeredRules } from "../rule_status";
import { RuleItem } from "./rule_item";

type Props = {
  rules: readonly RuleDocument[];
  findings: readonly Finding[];
  opened?: string | undefined;
};

export function RuleList({ rules, findings, opened }: Props): JSX.Element {
  const triggered = triggeredRules(rules, findings);
  if (rules.length === 0)
    return (
      <p class="sub">
        No rules have run on this job. Run them with <code>sonde check</code>.
      </p>
    );
  return (
    <div class="rule-list" data-chart="rules-list">
      <p class="sub">
        {pluralize(rules.length, "rule")}: {statusSummary(rules)}.
      </p>
      <ul>
        {triggered.map((rule) => (
          <RuleItem key={rule.rule} rule={rule} isOpen={rule.rule === opened} />
        ))}
      </ul>
      {silentRules(rules).map(([status, group]) => (
        <details
          key={status}
          class="quiet-rules"
          open={group.some((rule) => rule.rule === opened)}
          data-status={status}
        >
          <summary>
            {pluralize(group.length, "rule")}: {STATUS_LABELS[status]}
          </summary>
          <ul>
            {group.map((rule) => (
              <RuleItem key={rule.rule} rule={rule} isOpen={rule.rule === opened} />
            ))}
          </ul>
        </details>
      ))}
    </div>
  );
}
