// The Overview page: outcome, summary and findings, and the charts that name it as their place.

import type { JSX } from "preact";
import { allFindings, getJson, type JobDocument, jobPath } from "../api";
import { findingLink } from "../findings_strip";
import { pluralize } from "../format";
import type { ChartEntry } from "../generated/api_types";
import { headline, headlineState } from "../headline";
import { type PlacedChart, rowsOf, type SectionOfCharts, sectionsOf } from "../placed_charts";
import { always, useResource } from "../resource";
import { linkTo, route } from "../router";
import { RuleList } from "../rules/rule_list";
import { Sentence } from "../rules/sentence";
import { job } from "../state";
import { Notice, Waiting } from "../states";
import { useStepsInAddress } from "../step_window";
import { Chart } from "../views/chart";
import { ExitCard } from "./exit_card";
import "./pages.css";

const FIRST_FINDINGS = 3;

export function OverviewPage(): JSX.Element | null {
  const document = job.value;
  const name = document?.job ?? "";
  useStepsInAddress();
  const charts = useResource(
    (signal) => getJson<ChartEntry[]>(jobPath(name, "charts"), {}, signal),
    always,
    [name],
  ).value;
  if (!document) return null;
  const keyCharts = headline.value?.charts ?? null;
  const sections = sectionsOf(
    (charts.value ?? []).filter((entry) => !keyCharts?.includes(entry.name)),
  );
  return (
    <>
      {document.not_seen && (
        <p class="card not-seen" role="note">
          {document.not_seen}
        </p>
      )}
      <ExitCard document={document} />
      <Verdict document={document} />
      <KeyCharts job={name} names={keyCharts} />
      {charts.value === null && <Waiting resource={charts}>{() => null}</Waiting>}
      {sections
        .filter(({ title }) => title === "Advice")
        .flatMap(({ charts: placed }) => placed)
        .map((chart) => (
          <Placed key={chart.name} job={name} chart={chart} kind="card" />
        ))}
      {sections
        .filter(({ title }) => title === "Summary")
        .map((section) => (
          <Summary key={section.title} job={name} section={section} />
        ))}
      <Insights document={document} />
      {sections
        .filter(({ title }) => title !== "Advice" && title !== "Summary")
        .map((section) => (
          <Section key={section.title} job={name} section={section} />
        ))}
    </>
  );
}

type SectionProps = { job: string; section: SectionOfCharts };

/** A section of charts; hidden if all of them are empty. */
function Section({ job, section }: SectionProps): JSX.Element {
  return (
    <section class="page-section" aria-label={section.title}>
      <h2>{section.title}</h2>
      {rowsOf(section.charts).map((charts) => (
        <div key={charts[0]!.name} class="chart-grid">
          {charts.map((chart) => (
            <Placed key={chart.name} job={job} chart={chart} kind="card" />
          ))}
        </div>
      ))}
    </section>
  );
}

/** The charts of the summary in one card, below cards of its wide ones. */
function Summary({ job, section }: SectionProps): JSX.Element {
  const isWide = (chart: PlacedChart): boolean => chart.place.size === "wide";
  return (
    <>
      {section.charts.filter(isWide).map((chart) => (
        <Placed key={chart.name} job={job} chart={chart} kind="card" />
      ))}
      <div class="card summary">
        {section.charts
          .filter((chart) => !isWide(chart))
          .map((chart) => (
            <Placed key={chart.name} job={job} chart={chart} kind="part" />
          ))}
      </div>
    </>
  );
}

function Placed(props: { job: string; chart: PlacedChart; kind: "card" | "part" }): JSX.Element {
  const { name, place } = props.chart;
  return (
    <Chart
      job={props.job}
      name={name}
      className={`${props.kind} ${place.size}`}
      {...(place.title === null ? {} : { title: place.title })}
      {...(place.empty === null ? {} : { empty: place.empty })}
    />
  );
}

/** The verdict of the rules, and the most important findings. */
function Verdict({ document }: { document: JobDocument }): JSX.Element | null {
  const findings = allFindings(document);
  const { sentence } = document.findings;
  if (!sentence) return null;
  return (
    <section class="card verdict" aria-label="Verdict" data-chart="verdict">
      <Sentence document={document} />
      {findings.length > 0 && (
        <ul>
          {findings.slice(0, FIRST_FINDINGS).map((finding) => (
            <li key={finding.id}>
              <span class={`mark ${finding.severity}`}>{finding.severity}</span>
              <a href={findingLink(finding)}>{finding.rule}</a>
              {!sentence.includes(finding.message.replace(/\.$/, "")) && (
                <span class="sub">{finding.message}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      {findings.length > FIRST_FINDINGS && (
        <a href={linkTo("rules")}>All {pluralize(findings.length, "finding")}</a>
      )}
    </section>
  );
}

/** The charts that matter most for this job; their space is kept until they are known. */
function KeyCharts(props: { job: string; names: readonly string[] | null }): JSX.Element | null {
  if (props.names === null)
    return headlineState.value === "error" ? null : (
      <div class="key-charts-space">
        <Notice state="loading">Loading…</Notice>
      </div>
    );
  if (props.names.length === 0) return null;
  return (
    <section class="key-charts" aria-label="Key charts">
      {props.names.map((name) => (
        <Chart key={name} job={props.job} name={name} className="card" />
      ))}
    </section>
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
      <RuleList
        rules={document.rules}
        findings={document.findings.findings}
        opened={route.value.parameters.rule}
      />
    </section>
  );
}
