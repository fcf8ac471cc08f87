// The most severe findings below the header; each links to its page.

import type { JSX } from "preact";
import { allFindings, type Finding } from "./api";
import { findingRange } from "./finding_marks";
import { pluralize } from "./format";
import type { Range } from "./range";
import { rangeText } from "./range";
import { linkTo, route } from "./router";
import { job, jobStart } from "./state";
import { jobTime } from "./time_axis";

const SHOWN = 3;

/** A link to the page of a finding. */
export const findingLink = (finding: Finding): string =>
  linkTo("finding", undefined, { id: finding.id });

/** A link to the Nodes page at the time of a finding, with some margin around it. */
export function momentLink(finding: Finding, start: number, end: number): string {
  const range = findingRange(finding, start);
  if (!range) return linkTo("rules", undefined, { rule: finding.rule });
  const margin = Math.max((range[1] - range[0]) * 0.5, 1);
  const shown: Range = [Math.max(0, range[0] - margin), Math.min(end, range[1] + margin)];
  return linkTo("nodes", undefined, {
    t: rangeText(shown),
    sel: rangeText(range),
    ...(finding.node ? { node: finding.node } : {}),
  });
}

export function FindingsStrip(): JSX.Element | null {
  const document = job.value;
  if (!document) return null;
  void route.value;
  const findings = allFindings(document);
  if (!findings.length) return null;
  const start = jobStart.value;
  return (
    <section class="strip" aria-label="Findings">
      <a class={`count ${findings[0]!.severity}`} href={linkTo("rules")}>
        {pluralize(findings.length, "finding")}
      </a>
      <ul>
        {findings.slice(0, SHOWN).map((finding) => {
          const range = findingRange(finding, start);
          return (
            <li key={finding.id}>
              <a href={findingLink(finding)} title={finding.message}>
                <span class={`mark ${finding.severity}`}>{finding.severity}</span> {finding.rule}
                {range && (
                  <span class="when">
                    {" "}
                    {jobTime(range[0])}–{jobTime(range[1])}
                  </span>
                )}
              </a>
            </li>
          );
        })}
      </ul>
      {findings.length > SHOWN && (
        <a class="more" href={linkTo("rules")}>
          {findings.length - SHOWN} more
        </a>
      )}
    </section>
  );
}
