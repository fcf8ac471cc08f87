// Totals of the selection or the visible window, compared with the entire job.

import { useComputed } from "@preact/signals";
import { Fragment, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { getJson, jobPath } from "../api";
import { phaseColor, phaseName } from "../colors";
import { formatCount, formatDuration, formatPercent, formatValue } from "../format";
import { exposeChart } from "../inspect";
import { useResource, useVisible } from "../resource";
import {
  isFullView,
  job,
  jobStart,
  requestedView,
  selection,
  setSelection,
  setView,
} from "../state";
import { Waiting } from "../states";
import { shownRange } from "../time_axis";
import { toggled } from "../views/legend";
import { chosenWorker } from "./workers";

type Totals = {
  count: number;
  seconds: number;
  mean: number | null;
  p95: number | null;
  share: number;
};
export type PhaseRow = Totals & {
  name: string;
  run_share?: number;
  children?: (Partial<Totals> & { name: string; seconds: number; share: number })[];
};
type SystemMean = { unit: string; mean: number | null; devices?: Record<string, number | null> };
export type BreakdownDocument = {
  worker: number | null;
  node?: string;
  t0: number;
  t1: number;
  seconds: number;
  phases: PhaseRow[];
  other_seconds?: number;
  steps?: Totals;
  system?: { range: Record<string, SystemMean>; run: Record<string, SystemMean> };
};

const FIGURES: [string, string][] = [
  ["gpu.utilization_percent", "GPU utilization"],
  ["cpu.utilization_percent", "CPU utilization"],
  ["gpu.memory_used_percent", "GPU memory"],
  ["gpu.memory_used_bytes", "GPU memory"],
  ["memory.used_percent", "Memory"],
  ["cpu.iowait_percent", "I/O wait"],
];

/** Totals over many steps are expensive: charts load first, and drags are debounced. */
const AFTER_CHARTS_MS = 100;

export function Breakdown({ node }: { node: string }): JSX.Element {
  const box = useRef<HTMLElement>(null);
  const isVisible = useVisible(box);
  const range = useComputed(() => selection.value ?? requestedView.value);
  const worker = useComputed(() => chosenWorker(node));
  const isFirst = useRef(true);
  const data = useResource(
    async (signal) => {
      const [from, to] = range.value;
      const query = {
        t0: jobStart.value + from,
        t1: jobStart.value + to,
        worker: worker.value,
        node,
      };
      if (!isFirst.current) await new Promise((resolve) => setTimeout(resolve, AFTER_CHARTS_MS));
      isFirst.current = false;
      return getJson<BreakdownDocument>(jobPath(job.peek()?.job ?? "", "breakdown"), query, signal);
    },
    isVisible,
    [node],
  );
  useEffect(() => exposeChart("breakdown", () => data.peek().value), []);
  const [from, to] = range.value;
  return (
    <section class="card" ref={box} data-chart="breakdown" aria-label="Breakdown">
      <header>
        <h2>
          Breakdown of{" "}
          {selection.value ? "selection" : isFullView.value ? "entire job" : "visible window"}
        </h2>
        <span class="sub">
          {shownRange(from, to)} · {formatDuration(to - from)}
        </span>
        {selection.value && (
          <span class="end">
            <button type="button" onClick={() => setView(selection.value!)}>
              Zoom to selection
            </button>
            <button type="button" onClick={() => setSelection(null)}>
              Clear
            </button>
          </span>
        )}
      </header>
      <Waiting resource={data.value}>{(value) => <Figures data={value} />}</Waiting>
    </section>
  );
}

function Figures({ data }: { data: BreakdownDocument }): JSX.Element {
  const isPartial = selection.value !== null || !isFullView.value;
  const { range = {}, run = {} } = data.system ?? {};
  const shown = FIGURES.filter(
    ([metric]) => range[metric]?.mean !== null && range[metric] !== undefined,
  ).slice(0, 5);
  return (
    <>
      <dl class="figures">
        {shown.map(([metric, label]) => (
          <div key={metric}>
            <dt>{label}</dt>
            <dd>
              <b>{formatValue(range[metric]!.mean, range[metric]!.unit)}</b>
              {isPartial && <span class="sub">{changeText(range[metric]!, run[metric])}</span>}
            </dd>
          </div>
        ))}
      </dl>
      {data.phases.length ? (
        <PhaseTable data={data} isPartial={isPartial} />
      ) : (
        <p class="sub">No steps recorded in this range.</p>
      )}
    </>
  );
}

/** The difference of a mean to the entire job: "▼ 35 pp vs. entire job" for percentages. */
export function changeText(here: SystemMean, run: SystemMean | undefined): string {
  if (here.mean === null || !run || run.mean === null) return "";
  const difference = here.mean - run.mean;
  if (here.unit === "percent") {
    const points = Math.round(difference);
    return points === 0
      ? "same as entire job"
      : `${points > 0 ? "▲" : "▼"} ${Math.abs(points)} pp vs. entire job`;
  }
  return Math.abs(difference) < Math.abs(run.mean) * 0.005
    ? "same as entire job"
    : `${difference > 0 ? "▲" : "▼"} ${formatValue(Math.abs(difference), here.unit)} vs. entire job`;
}

function PhaseTable({
  data,
  isPartial,
}: {
  data: BreakdownDocument;
  isPartial: boolean;
}): JSX.Element {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (name: string): void => setOpen((before) => toggled(before, name));
  const rows = [...data.phases].sort((a, b) => b.seconds - a.seconds);
  const unphasedSeconds = data.other_seconds ?? 0;
  return (
    <div class="scroll-x">
      <table class="phases">
        <thead>
          <tr>
            <th>Phase</th>
            <th class="r">Share of time</th>
            <th aria-hidden="true" />
            <th class="r">Total</th>
            <th class="r">Count</th>
            <th class="r">Mean</th>
            <th class="r">p95</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Fragment key={row.name}>
              <tr data-phase={row.name}>
                <td class="name">
                  {row.children?.length ? (
                    <button
                      type="button"
                      class="expand"
                      aria-expanded={open.has(row.name)}
                      aria-label={`Details of ${phaseName(row.name)}`}
                      onClick={() => toggle(row.name)}
                    >
                      {open.has(row.name) ? "▾" : "▸"}
                    </button>
                  ) : (
                    <span class="expand" />
                  )}
                  <i class="swatch" style={{ background: `var(${phaseColor(row.name)})` }} />
                  {phaseName(row.name)}
                </td>
                <td class="r">
                  {formatPercent(row.share * 100)}
                  {isPartial && row.run_share !== undefined && (
                    <span class="sub run">run {formatPercent(row.run_share * 100)}</span>
                  )}
                </td>
                <td class="bar" aria-hidden="true">
                  <i
                    style={{
                      width: `${Math.min(100, row.share * 100)}%`,
                      background: `var(${phaseColor(row.name)})`,
                    }}
                  />
                </td>
                <td class="r">{formatDuration(row.seconds)}</td>
                <td class="r">{formatCount(row.count)}</td>
                <td class="r">{row.mean === null ? "–" : formatDuration(row.mean)}</td>
                <td class="r">{row.p95 === null ? "–" : formatDuration(row.p95)}</td>
              </tr>
              {open.has(row.name) &&
                row.children?.map((child) => (
                  <tr class="child" key={child.name}>
                    <td class="name">{child.name}</td>
                    <td class="r">{formatPercent(child.share * 100)}</td>
                    <td class="bar" aria-hidden="true">
                      <i
                        style={{
                          width: `${Math.min(100, child.share * 100)}%`,
                          background: `var(${phaseColor(row.name)})`,
                          opacity: "0.55",
                        }}
                      />
                    </td>
                    <td class="r">{formatDuration(child.seconds)}</td>
                    <td class="r">{child.count === undefined ? "" : formatCount(child.count)}</td>
                    <td class="r">{child.mean == null ? "" : formatDuration(child.mean)}</td>
                    <td class="r">{child.p95 == null ? "" : formatDuration(child.p95)}</td>
                  </tr>
                ))}
            </Fragment>
          ))}
          {unphasedSeconds > data.seconds * 0.001 && (
            <tr>
              <td class="name">
                <span class="expand" />
                <i class="swatch none" />
                outside phases
              </td>
              <td class="r">{formatPercent((unphasedSeconds / data.seconds) * 100)}</td>
              <td class="bar" aria-hidden="true">
                <i class="none" style={{ width: `${(unphasedSeconds / data.seconds) * 100}%` }} />
              </td>
              <td class="r">{formatDuration(unphasedSeconds)}</td>
              <td />
              <td />
              <td />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
