// The Compare page: the jobs in the URL side by side.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { getJson, type JobDocument, jobPath } from "../api";
import { cellText } from "../cells";
import { figureRows, findingRows, mergedLines, stepBars, utilizationBars } from "../comparison";
import { formatChange, formatCount } from "../format";
import type { LineChartSpec, Spec, TableSpec } from "../generated/chart_specs";
import { always, useResource } from "../resource";
import { linkTo, route } from "../router";
import { StateChip } from "../state_chip";
import { Notice, Waiting } from "../states";
import { useStepsInAddress } from "../step_window";
import type { ChartAnswer } from "../views/chart";
import { SpecView } from "../views/spec";
import { Comparison } from "./compare_details";
import "./pages.css";

const MAX_JOBS = 8;
const REFRESH_MS = 10_000; // while at least one job is running
const CHARTS = ["losses", "throughput", "gradient_norms", "learning_rate", "resources"] as const;

type Compared = {
  documents: JobDocument[];
  errors: string[]; // of jobs that cannot be read
  charts: Record<(typeof CHARTS)[number], { job: string; spec: Spec }[]>;
};

async function load(names: readonly string[], signal: AbortSignal): Promise<Compared> {
  const { values, errors } = await settled(
    names,
    (name) => getJson<JobDocument>(jobPath(name), {}, signal),
    signal,
  );
  const readable = values.map((document) => document.job);
  const charts = await Promise.all(
    CHARTS.map(async (chart) => {
      const answers = await settled(
        readable,
        async (job) => ({
          job,
          spec: (await getJson<ChartAnswer>(jobPath(job, "charts", chart), {}, signal)).spec,
        }),
        signal,
      );
      return [chart, answers.values.filter(({ spec }) => spec)] as const;
    }),
  );
  return {
    documents: values,
    errors,
    charts: Object.fromEntries(charts) as Compared["charts"],
  };
}

/** The results that succeeded, and the errors of the others: one bad job must not hide the rest. */
async function settled<T>(
  names: readonly string[],
  read: (name: string) => Promise<T>,
  signal: AbortSignal,
): Promise<{ values: T[]; errors: string[] }> {
  const results = await Promise.allSettled(names.map(read));
  signal.throwIfAborted();
  const values = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const errors = results.flatMap((result, index) =>
    result.status === "rejected"
      ? [
          `${names[index]}: ${result.reason instanceof Error ? result.reason.message : "unreadable"}`,
        ]
      : [],
  );
  return { values, errors };
}

export function ComparePage(): JSX.Element {
  const requested = (route.value.parameters.jobs ?? "").split(",").filter(Boolean);
  const names = requested.slice(0, MAX_JOBS);
  const key = names.join(",");
  useStepsInAddress();
  const refreshes = useMemo(() => signal(0), []);
  const compared = useResource(
    (abort) => {
      void refreshes.value;
      return load(names, abort);
    },
    always,
    [key],
  );
  const isAnyRunning =
    compared.value.value?.documents.some((document) => document.state === "running") ?? false;
  useEffect(() => {
    if (!isAnyRunning) return;
    const timer = setInterval(() => {
      if (!document.hidden) refreshes.value += 1;
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [isAnyRunning]);
  if (names.length < 2)
    return (
      <Notice state="empty">
        Select two or more jobs in <a href="#/">the list of jobs</a>, then click Compare.
      </Notice>
    );
  return (
    <>
      {requested.length > MAX_JOBS && (
        <p class="sub">
          Showing the first {MAX_JOBS} of {requested.length} jobs.
        </p>
      )}
      <Waiting resource={compared.value}>{(data) => <ComparisonView data={data} />}</Waiting>
    </>
  );
}

function ComparisonView({ data }: { data: Compared }): JSX.Element {
  const { documents, charts, errors } = data;
  const jobs = documents.map((document) => document.job);
  const lines = (chart: keyof Compared["charts"], title: string): LineChartSpec | null =>
    mergedLines(
      title,
      charts[chart].filter(
        (chart): chart is { job: string; spec: LineChartSpec } => chart.spec.mark === "line",
      ),
      jobs,
    );
  const specs: [string, Spec | null][] = [
    ["compare-losses", lines("losses", "Losses")],
    ["compare-throughput", lines("throughput", "Throughput")],
    ["compare-steps", stepBars(documents)],
    [
      "compare-utilization",
      utilizationBars(
        charts.resources.filter(
          (chart): chart is { job: string; spec: TableSpec } => chart.spec.mark === "table",
        ),
        jobs,
      ),
    ],
    ["compare-gradients", lines("gradient_norms", "Gradient norms")],
    ["compare-rates", lines("learning_rate", "Learning rate")],
  ];
  return (
    <div class="compare">
      {errors.map((error) => (
        <Notice key={error} state="error">
          {error}
        </Notice>
      ))}
      {documents.length > 0 && <Figures documents={documents} />}
      {jobs.length > 1 && <Comparison jobs={jobs} />}
      <div class="chart-grid">
        {specs.map(
          ([name, spec]) =>
            spec && (
              <div key={name} class="card">
                <SpecView spec={spec} name={name} />
              </div>
            ),
        )}
      </div>
      {documents.length > 0 && <Findings documents={documents} />}
    </div>
  );
}

function JobHeaders({ documents }: { documents: readonly JobDocument[] }): JSX.Element {
  return (
    <>
      {documents.map((document) => (
        <th key={document.job} scope="col" class="r">
          <a href={linkTo("overview", document.job)}>{document.job}</a>
        </th>
      ))}
    </>
  );
}

function Figures({ documents }: { documents: readonly JobDocument[] }): JSX.Element {
  return (
    <section class="card" aria-labelledby="figures-title" data-chart="compare-figures">
      <header>
        <h2 id="figures-title">Summary</h2>
        <span class="sub">Changes are relative to {documents[0]?.job}</span>
      </header>
      <div class="scroll-x">
        <table>
          <thead>
            <tr>
              <th scope="col">Metric</th>
              <JobHeaders documents={documents} />
            </tr>
          </thead>
          <tbody>
            {figureRows(documents).map(({ title, unit, values, changes }) => (
              <tr key={title}>
                <th scope="row">{title}</th>
                {values.map((value, index) => (
                  <td key={index} class="r">
                    {title === "State" ? (
                      <StateChip state={String(value)} />
                    ) : (
                      cellText(value, unit)
                    )}
                    <Change percent={changes[index] ?? null} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Change({ percent }: { percent: number | null }): JSX.Element | null {
  if (percent === null) return null;
  return <span class="change"> {formatChange(percent)}</span>;
}

function Findings({ documents }: { documents: readonly JobDocument[] }): JSX.Element {
  const rows = findingRows(documents);
  return (
    <section class="card" aria-labelledby="compared-findings" data-chart="compare-findings">
      <header>
        <h2 id="compared-findings">Findings</h2>
      </header>
      {rows.length === 0 ? (
        <p class="sub">No issues found in these jobs.</p>
      ) : (
        <div class="scroll-x">
          <table>
            <thead>
              <tr>
                <th scope="col">Rule</th>
                <JobHeaders documents={documents} />
              </tr>
            </thead>
            <tbody>
              {rows.map(({ rule, worst, triggered, outcomes }) => (
                <tr key={rule}>
                  <th scope="row">{rule}</th>
                  {documents.map((document, index) => (
                    <td key={document.job} class="r">
                      {worst[index] ? (
                        <a href={linkTo("rules", document.job, { rule })}>
                          <span class={`mark ${worst[index]}`}>{worst[index]}</span>{" "}
                          {formatCount(triggered[index] ?? 0)}×
                        </a>
                      ) : (
                        <span class="sub">{outcomes[index]}</span>
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
