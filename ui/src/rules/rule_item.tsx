// A rule as a headline that expands to its details.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Finding, RuleDocument } from "../api";
import { evidenceRows } from "../evidence";
import { formatCount, formatDuration } from "../format";
import { setParameters } from "../router";
import { STATUS_LABELS, worstOf } from "../rule_status";
import { FindingView } from "./finding_view";
import { RulePage } from "./rule_page";

const FIRST_FINDINGS = 12;

export function RuleItem({ rule, isOpen }: { rule: RuleDocument; isOpen: boolean }): JSX.Element {
  const element = useRef<HTMLDetailsElement>(null);
  const [isExpanded, setExpanded] = useState(isOpen);
  const [isRead, setRead] = useState(isOpen);
  useEffect(() => {
    if (!isOpen || !element.current) return;
    setExpanded(true);
    element.current.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  const toggle = (isShown: boolean): void => {
    if (isShown === isExpanded) return;
    setExpanded(isShown);
    if (isShown) setRead(true);
    if (isShown) setParameters({ rule: rule.rule });
    else if (isOpen) setParameters({ rule: null });
  };
  return (
    <li data-rule={rule.rule} data-status={rule.status}>
      <details
        ref={element}
        open={isExpanded}
        onToggle={(event) => toggle(event.currentTarget.open)}
      >
        <summary>
          <Headline rule={rule} />
        </summary>
        {isRead && <Opened rule={rule} />}
      </details>
    </li>
  );
}

function Headline({ rule }: { rule: RuleDocument }): JSX.Element {
  const worst = worstOf(rule.findings);
  const first = rule.findings.find((finding) => finding.severity === worst);
  const text = first?.message ?? rule.reason ?? rule.description;
  return (
    <span class="rule-line">
      <span class={`mark ${worst ?? (rule.status === "Error" ? "critical" : "quiet")}`}>
        {worst ?? STATUS_LABELS[rule.status]}
      </span>
      <b>{rule.rule}</b>
      <span class="rule-text">{text}</span>
      {rule.triggered > 0 && (
        <span class="times" title="Times triggered">
          {formatCount(rule.triggered)}×
        </span>
      )}
    </span>
  );
}

function FindingList({ findings }: { findings: readonly Finding[] }): JSX.Element | null {
  const [isExpanded, setExpanded] = useState(false);
  if (findings.length === 0) return null;
  const shown = isExpanded ? findings : findings.slice(0, FIRST_FINDINGS);
  return (
    <>
      <ul class="findings">
        {shown.map((finding) => (
          <FindingView key={finding.id} finding={finding} />
        ))}
      </ul>
      {shown.length < findings.length && (
        <button type="button" class="quiet" onClick={() => setExpanded(true)}>
          Show all {formatCount(findings.length)} findings
        </button>
      )}
    </>
  );
}

function Opened({ rule }: { rule: RuleDocument }): JSX.Element {
  const summary = evidenceRows(rule.summary);
  return (
    <div class="rule-body">
      <p>{rule.description}</p>
      {rule.reason && (
        <p class="sub">
          {STATUS_LABELS[rule.status]}: {rule.reason}
        </p>
      )}
      <FindingList findings={rule.findings} />
      {rule.traceback && (
        <pre role="region" tabIndex={0} aria-label="Traceback">
          {rule.traceback}
        </pre>
      )}
      <RulePage rule={rule} />
      <dl class="fact-list">
        <div>
          <dt>Times triggered</dt>
          <dd>{formatCount(rule.triggered)}</dd>
        </div>
        <div>
          <dt>Samples</dt>
          <dd>{formatCount(rule.datapoints)}</dd>
        </div>
        <div>
          <dt>Setting</dt>
          <dd>{rule.setting}</dd>
        </div>
        <div>
          <dt>CPU time</dt>
          <dd>{formatDuration(rule.seconds)}</dd>
        </div>
        {summary.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
