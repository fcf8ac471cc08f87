// Findings as bands and marks on charts, over time and over steps.

import { computed } from "@preact/signals";
import { allFindings, type Finding, unixOf } from "./api";
import type { Mark } from "./band_drawing";
import { headline } from "./headline";
import type { Range } from "./range";
import { route } from "./router";
import { extent, job, jobStart } from "./state";

const MAX_MARKS = 40;
const WIDE_SHARE = 0.6; // of the job: a band this wide would only tint the whole chart

function markOf(finding: Finding, range: Range): Mark {
  const { id, rule, severity, message } = finding;
  return { id, rule, severity, message, range };
}

/** The time range of a finding, in seconds since the start. */
export function findingRange(finding: Finding, start: number): Range | null {
  const from = unixOf(finding.time?.[0]),
    to = unixOf(finding.time?.[1]);
  if (from === null || to === null) return null;
  return [Math.max(0, from - start), Math.max(Math.max(0, from - start) + 0.001, to - start)];
}

/** All findings over time, except those of other nodes. */
export const timeMarks = computed<Mark[]>(() => {
  const node = route.value.parameters.node;
  return (job.value ? allFindings(job.value) : [])
    .filter((finding) => !node || !finding.node || finding.node === node)
    .flatMap((finding) => {
      const range = findingRange(finding, jobStart.value);
      return range ? [markOf(finding, range)] : [];
    })
    .slice(0, MAX_MARKS);
});

/** The marks whose bands do not cover most of the job. */
export const timeBands = computed(() => {
  const [from, to] = extent.value;
  return timeMarks.value.filter(
    ({ range }) => range[1] - range[0] < WIDE_SHARE * Math.max(1e-9, to - from),
  );
});

/** The findings that a chart over steps shows. */
export function stepMarks(chart: string): Mark[] {
  const illustrations = headline.value?.illustrations ?? {};
  return (job.value ? allFindings(job.value) : [])
    .filter((finding) => finding.step && illustrations[finding.rule]?.includes(chart))
    .map((finding) => markOf(finding, finding.step!))
    .slice(0, MAX_MARKS);
}
