// The page "Overview": how the job ended, how its time divides, what was found, how training went, what it used.

import type { JSX } from "preact";
import type { JobDocument } from "../api";
import { linkTo } from "../router";
import { RuleList } from "../rules/rule_list";
import { job } from "../state";
import { Chart } from "../views/chart";
import { Death } from "./death";
import "./pages.css";

const CURVES = ["losses", "metrics", "gradient_norms", "learning_rate", "throughput"];
const DEVICES = ["gpu_usage", "gpu_balance", "gpu_memory", "batch_size", "cpu_bottleneck", "io_bottleneck"];

export function OverviewPage(): JSX.Element | null {
  const document = job.value;
  if (!document) return null;
  const name = document.job;
  return (
    <>
      <Death document={document} />
      <Summary document={document} />
      <Insights document={document} />
      <h2 class="page-part">Training</h2>
      <div class="chart-grid">{CURVES.map((chart) => <Chart key={chart} job={name} name={chart} />)}</div>
      <h2 class="page-part">Resources</h2>
      <Chart job={name} name="resources" title="Resource utilization summary" empty="No machine was sampled." />
      <div class="chart-grid">{DEVICES.map((chart) => <Chart key={chart} job={name} name={chart} />)}</div>
      <h2 class="page-part">Operations and steps</h2>
      <Chart job={name} name="operators" empty="No operators were profiled: “Profile now” looks at the next steps of a running job, sonde run --profile operators at those of a new one." />
      <div class="chart-grid">
        <Chart job={name} name="phase_time" />
        <Chart job={name} name="step_histogram" />
        <Chart job={name} name="step_statistics" className="card wide" />
        <Chart job={name} name="outlier_phases" />
        <Chart job={name} name="outlier_system" />
        <Chart job={name} name="step_outliers" className="card wide" />
        <Chart job={name} name="loaders" className="card wide" />
        <Chart job={name} name="loading_times" className="card wide" />
      </div>
      <h2 class="page-part">Recording</h2>
      <div class="chart-grid">
        <Chart job={name} name="overhead" title="What Sonde itself costs" />
        <Chart job={name} name="lost" />
        <Chart job={name} name="environment" className="card wide" />
      </div>
    </>
  );
}

/** Stages as shares and over time beside the eleven figures. */
function Summary({ document }: { document: JobDocument }): JSX.Element {
  return (
    <div class="card summary">
      <div>
        <Chart job={document.job} name="stages" title="Job summary" className="part" empty="Nothing has trained in this job." />
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
        <a class="end" href={linkTo("rules")}>All rules</a>
      </header>
      {document.findings.sentence && <p class="sentence">{document.findings.sentence}</p>}
      <RuleList rules={document.rules} />
    </section>
  );
}
