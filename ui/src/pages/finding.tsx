// The page of one finding: what, where, since when, the charts that show it, its causes, its cost, and what to do.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { allFindings, type Finding, getJson, jobPath } from "../api";
import { evidenceRows } from "../evidence";
import { findingRange } from "../finding_marks";
import { momentLink } from "../findings_strip";
import { FindingsTrack } from "../findings_track";
import { formatDuration, formatValue } from "../format";
import type { TableSpec } from "../generated/chart_specs";
import { headline } from "../headline";
import { MetricLines } from "../nodes/metric_lines";
import { type Range, rangeText } from "../range";
import { always, useResource } from "../resource";
import { linkTo, route } from "../router";
import { Code, FindingTree } from "../rules/finding_view";
import { RulePage } from "../rules/rule_page";
import { job, jobStart, setView } from "../state";
import { Notice } from "../states";
import { showOnAxis } from "../step_window";
import { exactTime, TimeAxis } from "../time_axis";
import { Chart } from "../views/chart";
import { SpecView } from "../views/spec";
import "../nodes/nodes.css";
import "./pages.css";

const MIN_STEPS = 40;
const OUTPUT_SECONDS = 5;

/** The steps to show around a finding: as many before it as it lasts, and half as many after. */
export function stepsAround(step: readonly [number, number]): Range {
  const length = Math.max(MIN_STEPS, step[1] - step[0] + 1);
  return [Math.max(0, step[0] - length), step[1] + length / 2];
}

export function FindingPage(): JSX.Element {
  const id = route.value.parameters.id ?? "";
  const finding = job.value && allFindings(job.value).find((candidate) => candidate.id === id);
  if (!finding)
    return (
      <Notice state="error">
        This job has no finding “{id}”. <a href={linkTo("rules")}>Show all findings</a>
      </Notice>
    );
  return <FindingCards key={id} finding={finding} />;
}

function FindingCards({ finding }: { finding: Finding }): JSX.Element {
  const range = findingRange(finding, jobStart.value);
  const baseline = useBaseline(finding);
  const rule = job.value?.rules.find((candidate) => candidate.rule === finding.rule);
  useEffect(() => {
    if (finding.step) showOnAxis("Step", stepsAround(finding.step));
    return () => showOnAxis("Step", null);
  }, []);
  useEffect(() => {
    if (!range || route.peek().parameters.t) return;
    const margin = Math.max((range[1] - range[0]) / 2, 2);
    setView([range[0] - margin, range[1] + margin], "replace");
  }, []);
  return (
    <>
      <Summary finding={finding} range={range} lost={baseline?.lost_seconds ?? null} />
      <Evidence finding={finding} />
      <BaselineCard baseline={baseline} />
      <FindingTree finding={finding} />
      <Remedy finding={finding} />
      {rule && (
        <section class="card rule-body" aria-labelledby="rule-title">
          <header>
            <h2 id="rule-title">How {rule.rule} decides</h2>
          </header>
          <RulePage rule={rule} />
        </section>
      )}
    </>
  );
}

/** What differs between a finding and the rest of its job. */
type Baseline = { table: TableSpec | null; sentence: string; lost_seconds: number | null };

function useBaseline({ id }: Finding): Baseline | null {
  const name = job.value?.job ?? "";
  return useResource(
    (signal) => getJson<Baseline>(jobPath(name, "finding"), { id }, signal),
    always,
    [name, id],
  ).value.value;
}

/** What was different during the finding, and how sure that is. */
function BaselineCard({ baseline }: { baseline: Baseline | null }): JSX.Element | null {
  if (!baseline || !(baseline.sentence || baseline.table)) return null;
  return (
    <section class="card" aria-label="Comparison with the rest of the job">
      {baseline.table ? (
        <SpecView spec={{ ...baseline.table, note: baseline.sentence }} name="finding-baseline" />
      ) : (
        <p>{baseline.sentence}</p>
      )}
    </section>
  );
}

/** What to do, as text and as code. */
function Remedy({ finding }: { finding: Finding }): JSX.Element | null {
  const remedies = headline.value?.remedies[finding.id] ?? [];
  if (!finding.advice && !remedies.length) return null;
  return (
    <section class="card" aria-labelledby="remedy-title">
      <header>
        <h2 id="remedy-title">What to do</h2>
      </header>
      {finding.advice && (
        <p class="advice">
          <Code text={finding.advice} />
        </p>
      )}
      {remedies.map(({ text, code }) => (
        <div key={text}>
          <p>{text}</p>
          {code && (
            <pre role="region" tabIndex={0} aria-label={`Code: ${text}`}>
              {code}
            </pre>
          )}
        </div>
      ))}
    </section>
  );
}

type SummaryProps = { finding: Finding; range: Range | null; lost: number | null };

function Summary({ finding, range, lost }: SummaryProps): JSX.Element {
  const document = job.value!;
  return (
    <section class={`card finding-card ${finding.severity}`} aria-labelledby="finding-title">
      <header>
        <span class={`mark ${finding.severity}`}>{finding.severity}</span>
        <h2 id="finding-title">{finding.rule}</h2>
        <span class="sub">{finding.outcome}</span>
        <span class="end">
          {range && (
            <a class="button" href={momentLink(finding, jobStart.value, document.t1 - document.t0)}>
              Show on Nodes
            </a>
          )}
          {range && (
            <a class="button" href={linkTo("logs", undefined, { t: outputAround(range) })}>
              Show output
            </a>
          )}
          {finding.tensor && (
            <a class="button" href={linkTo("tensors", undefined, { tensors: finding.tensor })}>
              Show tensor
            </a>
          )}
        </span>
      </header>
      <p class="message">{finding.message}</p>
      <dl class="fact-list">
        {placeRows(finding, range, lost).map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The time of a finding and some seconds around it. */
const outputAround = ([from, to]: Range): string =>
  rangeText([Math.max(0, from - OUTPUT_SECONDS), to + OUTPUT_SECONDS]);

/** Where and since when, how often, and what it costs. */
export function placeRows(
  finding: Finding,
  range: Range | null,
  lost: number | null,
): [string, string][] {
  const { step, evidence } = finding;
  const rows: [string, string | null][] = [
    ["Since", range && exactTime(range[0])],
    ["Duration", range && formatDuration(range[1] - range[0])],
    ["Steps", step && (step[0] === step[1] ? `${step[0]}` : `${step[0]}–${step[1]}`)],
    ["Node", finding.node],
    ["Worker", finding.worker === null ? null : String(finding.worker)],
    ["Device", finding.device],
    ["Tensor", finding.tensor],
    ["Reported", `${finding.triggered}×`],
    ["Time lost", costOf(evidence.lost_seconds ?? lost, "seconds")],
    ["GPU hours lost", costOf(evidence.gpu_hours_lost, "")],
  ];
  return rows.filter((row): row is [string, string] => Boolean(row[1]));
}

function costOf(value: unknown, unit: string): string | null {
  return typeof value === "number" && value > 0 ? formatValue(value, unit) : null;
}

/** All details of the steps to show; charts that cannot zoom ignore it. */
function stepQuery({ step }: Finding): Record<string, string> {
  if (!step) return {};
  const [from, to] = stepsAround(step);
  return { start_step: String(Math.floor(from)), end_step: String(Math.ceil(to) + 1) };
}

/** The charts and numbers that show the finding. */
function Evidence({ finding }: { finding: Finding }): JSX.Element {
  const document = job.value!;
  const charts = headline.value?.illustrations[finding.rule] ?? [];
  const metrics = headline.value?.metrics[finding.rule] ?? [];
  const node = finding.node ?? document.nodes[0]?.name;
  const rows = evidenceRows(finding.evidence);
  const isLoaded = headline.value !== null;
  return (
    <section class="page-evidence" aria-label="Evidence">
      {charts.length > 0 && (
        <div class="chart-grid">
          {charts.map((name) => (
            <Chart
              key={name}
              job={document.job}
              name={name}
              className="card"
              query={stepQuery(finding)}
            />
          ))}
        </div>
      )}
      {!isLoaded && <Notice state="loading">Loading…</Notice>}
      {isLoaded && node && finding.time && (metrics.length > 0 || charts.length === 0) && (
        <div class="card flush">
          <FindingsTrack />
          <MetricLines node={node} metrics={metrics} device={finding.device} />
          <TimeAxis name="axis-finding" />
        </div>
      )}
      {rows.length > 0 && (
        <div class="card">
          <header>
            <h2>Evidence</h2>
          </header>
          <dl class="fact-list evidence">
            {rows.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </div>
      )}
    </section>
  );
}
