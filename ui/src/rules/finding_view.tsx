// A finding with its time, location, evidence, recommendation and cause.

import type { JSX } from "preact";
import type { Finding } from "../api";
import { evidenceRows } from "../evidence";
import { findingRange } from "../finding_marks";
import { findingLink, momentLink } from "../findings_strip";
import { formatStamp } from "../format";
import { linkTo } from "../router";
import { job, jobStart, zone } from "../state";
import { shownTime } from "../time_axis";

export function FindingView({ finding }: { finding: Finding }): JSX.Element {
  const rows = evidenceRows(finding.evidence);
  return (
    <li class={`finding ${finding.severity}`} data-finding={finding.id}>
      <p class="finding-text">
        <span class={`mark ${finding.severity}`}>{finding.severity}</span>{" "}
        <a href={findingLink(finding)}>{finding.message}</a>{" "}
        <span class="sub">({finding.outcome})</span>
      </p>
      <When finding={finding} />
      {rows.length > 0 && (
        <dl class="fact-list evidence" aria-label="Evidence">
          {rows.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {finding.advice && (
        <p class="advice">
          <b>What to do:</b> <Code text={finding.advice} />
        </p>
      )}
      <Cause finding={finding} />
      <Actions finding={finding} />
    </li>
  );
}

/** The time and location of a finding, with a link to the charts of that time. */
export function When({ finding }: { finding: Finding }): JSX.Element {
  const document = job.value;
  const range = findingRange(finding, jobStart.value);
  const about = [
    finding.step &&
      (finding.step[0] === finding.step[1]
        ? `step ${finding.step[0]}`
        : `steps ${finding.step[0]}–${finding.step[1]}`),
    finding.node && `node ${finding.node}`,
    finding.worker !== null && `worker ${finding.worker}`,
    finding.device,
    finding.tensor,
  ].filter(Boolean);
  return (
    <p class="when">
      {range && document && (
        <a
          href={momentLink(finding, jobStart.value, document.t1 - document.t0)}
          title={stampOf(finding)}
        >
          {shownTime(range[0])} – {shownTime(range[1])}: show in charts
        </a>
      )}
      {about.length > 0 && <span class="sub"> {about.join(" · ")}</span>}
      {finding.tensor && (
        <>
          {" "}
          <a href={linkTo("tensors", undefined, { tensors: finding.tensor })}>Show tensor</a>
        </>
      )}
    </p>
  );
}

function Cause({ finding }: { finding: Finding }): JSX.Element | null {
  const findings = job.value?.findings.findings ?? [];
  const cause = findings.find((candidate) => candidate.id === finding.cause);
  const explained = [
    ...new Set(
      findings
        .filter((candidate) => candidate.cause === finding.id)
        .map((candidate) => candidate.rule),
    ),
  ];
  if (!cause && explained.length === 0) return null;
  return (
    <p class="sub">
      {cause && (
        <>
          Caused by <a href={linkTo("rules", undefined, { rule: cause.rule })}>{cause.rule}</a>:{" "}
          {cause.message}{" "}
        </>
      )}
      {explained.length > 0 && (
        <>
          Explains{" "}
          {explained.map((name, index) => (
            <span key={name}>
              {index > 0 && ", "}
              <a href={linkTo("rules", undefined, { rule: name })}>{name}</a>
            </span>
          ))}
          .
        </>
      )}
    </p>
  );
}

/** The chain of findings around one: what causes it, and what it causes in turn. */
export function FindingTree({ finding }: { finding: Finding }): JSX.Element | null {
  const findings = job.value?.findings.findings ?? [];
  const chain: Finding[] = [];
  let above = findings.find((candidate) => candidate.id === finding.cause);
  while (above && !chain.includes(above)) {
    chain.unshift(above);
    const { cause } = above;
    above = findings.find((candidate) => candidate.id === cause);
  }
  const effects = findings.filter((candidate) => candidate.cause === finding.id);
  if (chain.length + effects.length === 0) return null;
  const item = (candidate: Finding, relation: string): JSX.Element => (
    <li key={candidate.id}>
      <span class="sub">{relation}</span>{" "}
      <span class={`mark ${candidate.severity}`}>{candidate.severity}</span>{" "}
      <a href={findingLink(candidate)}>{candidate.rule}</a>{" "}
      <span class="sub">{candidate.message}</span>
    </li>
  );
  return (
    <section class="card" aria-labelledby="causes-title">
      <header>
        <h2 id="causes-title">Causes and consequences</h2>
      </header>
      <ol class="causes">
        {chain.map((candidate) => item(candidate, "Cause"))}
        <li aria-current="true">
          <b>{finding.rule}</b> <span class="sub">this finding</span>
        </li>
        {effects.map((candidate) => item(candidate, "Consequence"))}
      </ol>
    </section>
  );
}

type Action = { action?: string; state?: string; message?: string; time?: string };

function Actions({ finding }: { finding: Finding }): JSX.Element | null {
  const actions = finding.actions as Action[];
  if (actions.length === 0) return null;
  return (
    <ul class="sub">
      {actions.map((action, index) => (
        <li key={index}>
          Action {action.action}: {action.message ?? action.state}
        </li>
      ))}
    </ul>
  );
}

/** Text with code in backquotes. */
export function Code({ text }: { text: string }): JSX.Element {
  return (
    <>
      {text
        .split("`")
        .map((segment, index) => (index % 2 === 1 ? <code key={index}>{segment}</code> : segment))}
    </>
  );
}

function stampOf(finding: Finding): string {
  const stamp = (text: string | undefined): string =>
    text ? formatStamp(Date.parse(text) / 1000, zone.value) : "";
  return `${stamp(finding.time?.[0])} – ${stamp(finding.time?.[1])}`;
}
