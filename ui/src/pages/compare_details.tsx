// What differs between compared jobs: in words, step times with their noise, and settings.

import type { JSX } from "preact";
import { getJson, jobPath } from "../api";
import { formatDuration } from "../format";
import type {
  ComparisonDocument,
  PhaseDifferenceDocument,
  SettingDifferenceDocument,
} from "../generated/api_types";
import { always, useResource } from "../resource";
import { Waiting } from "../states";
import { ComparedLosses } from "./compared_losses";

/** Loaded apart from the rest of the page: large jobs take long to compare. */
export function Comparison({ jobs }: { jobs: readonly string[] }): JSX.Element {
  const [baseline = "", ...others] = jobs;
  const comparison = useResource(
    (abort) =>
      getJson<ComparisonDocument>(
        jobPath(baseline, "compare"),
        { others: others.join(",") },
        abort,
      ),
    always,
    [jobs.join(",")],
  );
  return (
    <>
      <Waiting resource={comparison.value}>
        {(document) => (
          <div class="compare">
            <Conclusions comparison={document} />
            <StepTimes comparison={document} />
            <Settings comparison={document} />
          </div>
        )}
      </Waiting>
      <ComparedLosses baseline={baseline} others={others} />
    </>
  );
}

function Conclusions({ comparison }: { comparison: ComparisonDocument }): JSX.Element {
  return (
    <section class="card" aria-labelledby="conclusions-title" data-chart="compare-conclusions">
      <header>
        <h2 id="conclusions-title">Conclusions</h2>
      </header>
      <ul class="conclusions">
        {comparison.sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </section>
  );
}

/** A change with its noise: "+40 ms ± 3 ms". */
function changeText(row: PhaseDifferenceDocument): string {
  const change = `${row.change_seconds > 0 ? "+" : ""}${formatDuration(row.change_seconds)}`;
  return row.bound_seconds === null ? change : `${change} ± ${formatDuration(row.bound_seconds)}`;
}

function StepTimes({ comparison }: { comparison: ComparisonDocument }): JSX.Element | null {
  const rows = comparison.step_time;
  if (rows.length === 0) return null;
  return (
    <section class="card" aria-labelledby="step-times-title" data-chart="compare-step-times">
      <header>
        <h2 id="step-times-title">Mean step time after warm-up</h2>
        <span class="sub">Relative to {comparison.jobs[0]}, with the noise of the means (95%)</span>
      </header>
      <div class="scroll-x">
        <table>
          <thead>
            <tr>
              <th scope="col">Job</th>
              <th scope="col">Phase</th>
              <th scope="col" class="r">
                {comparison.jobs[0]}
              </th>
              <th scope="col" class="r">
                This job
              </th>
              <th scope="col" class="r">
                Change
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={`${row.job}/${row.phase}`}>
                <th scope="row">{row.job}</th>
                <td>{row.phase.replaceAll("_", " ")}</td>
                <td class="r">{formatDuration(row.baseline_seconds)}</td>
                <td class="r">{formatDuration(row.seconds)}</td>
                <td class={row.is_significant ? "r" : "r sub"}>
                  {changeText(row)}
                  {!row.is_significant && " (within noise)"}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Settings({ comparison }: { comparison: ComparisonDocument }): JSX.Element {
  return (
    <section class="card" aria-labelledby="settings-title" data-chart="compare-settings">
      <header>
        <h2 id="settings-title">Settings that differ</h2>
      </header>
      {comparison.differences.length === 0 ? (
        <p class="sub">Command, commit, packages, environment and machine are the same.</p>
      ) : (
        <div class="scroll-x">
          <table>
            <thead>
              <tr>
                <th scope="col">Setting</th>
                {comparison.jobs.map((job) => (
                  <th key={job} scope="col">
                    {job}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {comparison.differences.map((row) => (
                <SettingRow key={`${row.section}/${row.name}`} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function SettingRow({ row }: { row: SettingDifferenceDocument }): JSX.Element {
  return (
    <tr>
      <th scope="row">
        {row.name} <span class="sub">{row.section}</span>
      </th>
      {row.values.map((value, index) => (
        <td key={index} class="setting">
          {value ?? "–"}
        </td>
      ))}
    </tr>
  );
}
