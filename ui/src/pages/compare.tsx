// The page "Compare": two or more jobs side by side; which ones, the address says.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { getJson, type JobDocument, jobPath } from "../api";
import { cellText } from "../cells";
import { figureRows, findingRows, mergedLines, stepBars, utilizationBars } from "../comparing";
import { always, useResource } from "../resource";
import { linkTo, route } from "../router";
import type { LineSpec, Spec, TableSpec } from "../specs";
import { StateChip } from "../state_chip";
import { Notice, Waiting } from "../states";
import { useStepsInAddress } from "../step_window";
import type { ChartAnswer } from "../views/chart";
import { SpecView } from "../views/spec";
import "./pages.css";

const MOST_JOBS = 8;
const REFRESH_MS = 10_000; // while one of them runs
const CHARTS = ["losses", "throughput", "gradient_norms", "learning_rate", "resources"] as const;

type Compared = {
  documents: JobDocument[];
  charts: Record<(typeof CHARTS)[number], { job: string; spec: Spec }[]>;
};

async function load(names: readonly string[], signal: AbortSignal): Promise<Compared> {
  const documents = await Promise.all(
    names.map((name) => getJson<JobDocument>(jobPath(name), {}, signal)),
  );
  const charts = await Promise.all(
    CHARTS.map(async (chart) => {
      const answers = await Promise.all(
        names.map((name) => getJson<ChartAnswer>(jobPath(name, "charts", chart), {}, signal)),
      );
      return [
        chart,
        answers.flatMap(({ spec }, index) => (spec ? [{ job: names[index] ?? "", spec }] : [])),
      ] as const;
    }),
  );
  return { documents, charts: Object.fromEntries(charts) as Compared["charts"] };
}

export function ComparePage(): JSX.Element {
  const asked = (route.value.parameters.jobs ?? "").split(",").filter(Boolean);
  const names = asked.slice(0, MOST_JOBS);
  const key = names.join(",");
  useStepsInAddress();
  const looks = useMemo(() => signal(0), []);
  const compared = useResource(
    (abort) => {
      void looks.value;
      return load(names, abort);
    },
    always,
    [key],
  );
  const isMoving = compared.value.value?.documents.some((one) => one.state === "running") ?? false;
  useEffect(() => {
    if (!isMoving) return;
    const timer = setInterval(() => {
      if (!document.hidden) looks.value += 1;
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [isMoving]);
  if (names.length < 2)
    return (
      <Notice state="empty">
        Choose two or more jobs in <a href="#/">the list of jobs</a>, then “Compare”.
      </Notice>
    );
  return (
    <>
      {asked.length > MOST_JOBS && (
        <p class="sub">
          The first {MOST_JOBS} of {asked.length} jobs.
        </p>
      )}
      <Waiting resource={compared.value}>{(found) => <Side found={found} />}</Waiting>
    </>
  );
}

function Side({ found }: { found: Compared }): JSX.Element {
  const { documents, charts } = found;
  const jobs = documents.map((one) => one.job);
  const lines = (chart: keyof Compared["charts"], title: string): LineSpec | null =>
    mergedLines(
      title,
      charts[chart].filter(
        (one): one is { job: string; spec: LineSpec } => one.spec.mark === "line",
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
          (one): one is { job: string; spec: TableSpec } => one.spec.mark === "table",
        ),
        jobs,
      ),
    ],
    ["compare-gradients", lines("gradient_norms", "Gradient norms")],
    ["compare-rates", lines("learning_rate", "Learning rate")],
  ];
  return (
    <div class="compare">
      <Figures documents={documents} />
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
      <Findings documents={documents} />
    </div>
  );
}

function Heads({ documents }: { documents: readonly JobDocument[] }): JSX.Element {
  return (
    <>
      {documents.map((one) => (
        <th key={one.job} scope="col" class="r">
          <a href={linkTo("overview", one.job)}>{one.job}</a>
        </th>
      ))}
    </>
  );
}

function Figures({ documents }: { documents: readonly JobDocument[] }): JSX.Element {
  return (
    <section class="card" aria-labelledby="figures-title" data-chart="compare-figures">
      <header>
        <h2 id="figures-title">Figures</h2>
        <span class="sub">changes are against {documents[0]?.job}</span>
      </header>
      <div class="scroll-x">
        <table>
          <thead>
            <tr>
              <th scope="col">Figure</th>
              <Heads documents={documents} />
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
  if (percent === null || Math.abs(percent) < 0.5) return null;
  return (
    <span class="change">
      {" "}
      {percent >= 900
        ? `×${(percent / 100 + 1).toFixed(0)}`
        : `${percent > 0 ? "+" : "−"}${Math.abs(percent).toFixed(0)} %`}
    </span>
  );
}

function Findings({ documents }: { documents: readonly JobDocument[] }): JSX.Element {
  const rows = findingRows(documents);
  return (
    <section class="card" aria-labelledby="compared-findings" data-chart="compare-findings">
      <header>
        <h2 id="compared-findings">Findings</h2>
      </header>
      {rows.length === 0 ? (
        <p class="sub">No rule has found anything in these jobs.</p>
      ) : (
        <div class="scroll-x">
          <table>
            <thead>
              <tr>
                <th scope="col">Rule</th>
                <Heads documents={documents} />
              </tr>
            </thead>
            <tbody>
              {rows.map(({ rule, worst, triggered, asked }) => (
                <tr key={rule}>
                  <th scope="row">{rule}</th>
                  {documents.map((one, index) => (
                    <td key={one.job} class="r">
                      {worst[index] ? (
                        <a href={linkTo("rules", one.job, { rule })}>
                          <span class={`mark ${worst[index]}`}>{worst[index]}</span>{" "}
                          {triggered[index]}×
                        </a>
                      ) : (
                        <span class="sub">{asked[index] ? "nothing found" : "not asked"}</span>
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
