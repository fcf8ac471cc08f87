// The Overview page: outcome, summary, findings, training curves, resources and steps.

import type { ComponentChildren, JSX } from "preact";
import type { JobDocument } from "../api";
import { linkTo } from "../router";
import { RuleList } from "../rules/rule_list";
import { Sentence } from "../rules/sentence";
import { job } from "../state";
import { useStepsInAddress } from "../step_window";
import { Chart } from "../views/chart";
import { ExitCard } from "./exit_card";
import "./pages.css";

const CURVES = ["losses", "metrics", "gradient_norms", "learning_rate", "throughput"];
const STEPS = [
  "operator_phases",
  "phase_time",
  "step_histogram",
  "step_statistics",
  "outlier_phases",
  "outlier_system",
  "step_outliers",
  "loaders",
  "loading_times",
];
const WIDE = new Set(["step_statistics", "step_outliers", "loaders", "loading_times"]);
const DEVICES = [
  "gpu_usage",
  "gpu_balance",
  "gpu_memory",
  "batch_size",
  "cpu_bottleneck",
  "io_bottleneck",
];

const NOT_PROFILED =
  "No operator profile recorded. Use “Profile now” for a running job, or sonde run --profile for a new one.";

export function OverviewPage(): JSX.Element | null {
  const document = job.value;
  useStepsInAddress();
  if (!document) return null;
  const name = document.job;
  return (
    <>
      {document.not_seen && (
        <p class="card not-seen" role="note">
          {document.not_seen}
        </p>
      )}
      <ExitCard document={document} />
      <Summary document={document} />
      <Insights document={document} />
      <Section title="Training">
        <div class="chart-grid">
          {CURVES.map((chart) => (
            <Chart key={chart} job={name} name={chart} />
          ))}
        </div>
      </Section>
      <Section title="Resources">
        <Chart job={name} name="resources" empty="No system samples recorded." />
        <div class="chart-grid">
          {DEVICES.map((chart) => (
            <Chart key={chart} job={name} name={chart} />
          ))}
        </div>
      </Section>
      <Section title="Operations and steps">
        <Chart job={name} name="operators" empty={NOT_PROFILED} />
        <div class="chart-grid">
          {STEPS.map((chart) => (
            <Chart
              key={chart}
              job={name}
              name={chart}
              className={WIDE.has(chart) ? "card wide" : "card"}
            />
          ))}
        </div>
      </Section>
      <Section title="Recording">
        <div class="chart-grid">
          <Chart job={name} name="overhead" title="Overhead of Sonde" className="card wide" />
          <Chart job={name} name="lost" className="card wide" />
          <Chart job={name} name="environment" className="card wide" />
        </div>
      </Section>
    </>
  );
}

/** A section of charts; hidden if all of them are empty. */
function Section({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="page-section" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Stages as shares and over time, and job details. */
function Summary({ document }: { document: JobDocument }): JSX.Element {
  return (
    <div class="card summary">
      <div>
        <Chart
          job={document.job}
          name="stages"
          title="Job summary"
          className="part"
          empty="No training steps recorded."
        />
        <Chart job={document.job} name="progress" className="part" />
      </div>
      <Chart job={document.job} name="job_details" title="Job details" className="part" />
    </div>
  );
}

function Insights({ document }: { document: JobDocument }): JSX.Element {
  return (
    <section class="card insights" aria-labelledby="insights-title">
      <header>
        <h2 id="insights-title">Insights</h2>
        <a class="end" href={linkTo("rules")}>
          All rules
        </a>
      </header>
      <Sentence document={document} />
      <RuleList rules={document.rules} findings={document.findings.findings} />
    </section>
  );
}
