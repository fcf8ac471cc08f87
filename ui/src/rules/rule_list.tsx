// Every rule with its status: those that found something first and open to read, the quiet ones folded.

import type { JSX } from "preact";
import type { Finding, RuleDocument } from "../api";
import { loudRules, quietRules, STATUS_WORDS, standing } from "../judged";
import { RuleItem } from "./rule_item";

type Props = {
  rules: readonly RuleDocument[];
  findings: readonly Finding[];
  opened?: string | undefined;
};

export function RuleList({ rules, findings, opened }: Props): JSX.Element {
  const loud = loudRules(rules, findings);
  if (rules.length === 0)
    return (
      <p class="sub">
        No rule was asked about this job. Ask them now with <code>sonde check</code>.
      </p>
    );
  return (
    <div class="rule-list" data-chart="rules-list">
      <p class="sub">
        {rules.length} rules: {standing(rules)}.
      </p>
      <ul>
        {loud.map((rule) => (
          <RuleItem key={rule.rule} rule={rule} isOpen={rule.rule === opened} />
        ))}
      </ul>
      {quietRules(rules).map(([status, found]) => (
        <details
          key={status}
          class="quiet-rules"
          open={found.some((one) => one.rule === opened)}
          data-status={status}
        >
          <summary>
            {found.length} {found.length === 1 ? "rule" : "rules"}: {STATUS_WORDS[status] ?? status}
          </summary>
          <ul>
            {found.map((rule) => (
              <RuleItem key={rule.rule} rule={rule} isOpen={rule.rule === opened} />
            ))}
          </ul>
        </details>
      ))}
    </div>
  );
}
