// The Logs page: lines of stdout and stderr in the shown time window, with steps and findings.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { allFindings, type Finding, getJson, jobPath, unixOf } from "../api";
import { bundle } from "../bundle";
import { findingLink } from "../findings_strip";
import { formatCount, pluralize } from "../format";
import { rangeText } from "../range";
import { always, useResource } from "../resource";
import { linkTo, route, setParameters } from "../router";
import { isFullView, job, jobStart, requestedView } from "../state";
import { Waiting } from "../states";
import { throttledUpdates } from "../throttled_updates";
import { shownTime } from "../time_axis";
import "./logs.css";

export type LogLine = {
  time: number;
  worker: number | null;
  step: number;
  mode: string;
  stream: string;
  text: string;
};
type LogPage = { lines: LogLine[]; total: number };
export type Entry = { line: LogLine; isNewStep: boolean } | { finding: Finding; time: number };

const LIMIT = 1000;
const AROUND_SECONDS = 1;

/** Lines and findings in order of time; a line is marked if its step differs from the previous. */
export function entriesOf(lines: readonly LogLine[], findings: readonly Finding[]): Entry[] {
  const first = lines[0]?.time ?? 0;
  const starts = findings
    .map((finding) => ({ finding, time: unixOf(finding.time[0]) ?? 0 }))
    .filter(({ time }) => time >= first)
    .sort((a, b) => a.time - b.time);
  const entries: Entry[] = [];
  const steps = new Map<number | null, string>();
  for (const line of lines) {
    while (starts[0] && starts[0].time <= line.time) entries.push(starts.shift()!);
    const step = `${line.mode} ${line.step}`;
    entries.push({ line, isNewStep: steps.get(line.worker) !== step });
    steps.set(line.worker, step);
  }
  return [...entries, ...starts];
}

export function LogsPage(): JSX.Element | null {
  const document = job.value;
  const { find = "", stream = "" } = route.value.parameters;
  const name = document?.job ?? "";
  const page = useResource(
    (signal) => {
      void throttledUpdates.value;
      if (bundle) return getJson<LogPage>(jobPath(name, "logs"), {}, signal);
      const [from, to] = requestedView.value;
      const window = isFullView.value ? {} : { t0: jobStart.value + from, t1: jobStart.value + to };
      const query = { search: find, stream, limit: LIMIT, ...window };
      return getJson<LogPage>(jobPath(name, "logs"), query, signal);
    },
    always,
    [name, find, stream],
  ).value;
  if (!document) return null;
  const findings = find || stream ? [] : allFindings(document);
  return (
    <section class="card logs-page" aria-labelledby="logs-title">
      <header>
        <h2 id="logs-title">Output</h2>
        {!bundle && <StreamChoice value={stream} />}
        {!bundle && <SearchField value={find} />}
      </header>
      <Waiting resource={page}>
        {({ lines, total }) =>
          total === 0 ? (
            <Empty isFiltered={Boolean(find || stream) || !isFullView.value} />
          ) : (
            <Lines entries={entriesOf(lines, findings)} shown={lines.length} total={total} />
          )
        }
      </Waiting>
    </section>
  );
}

function StreamChoice({ value }: { value: string }): JSX.Element {
  return (
    <label class="control">
      Stream{" "}
      <select
        value={value}
        onChange={(event) => setParameters({ stream: event.currentTarget.value })}
      >
        <option value="">all</option>
        <option value="stdout">stdout</option>
        <option value="stderr">stderr</option>
      </select>
    </label>
  );
}

function Empty({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  return (
    <p class="sub" data-state="empty">
      {isFiltered
        ? "No matching lines in this time range."
        : "No lines recorded. Lines that Python code prints in training processes are recorded."}
    </p>
  );
}

type LinesProps = { entries: readonly Entry[]; shown: number; total: number };

function Lines({ entries, shown, total }: LinesProps): JSX.Element {
  const hasWorkers = (job.value?.workers.length ?? 0) > 1;
  return (
    <>
      <p class="sub" role="status">
        {shown < total
          ? `The last ${formatCount(shown)} of ${pluralize(total, "line")}`
          : pluralize(total, "line")}
      </p>
      <div
        class="log-box"
        data-chart="logs"
        data-state="ready"
        role="region"
        aria-label="Lines"
        tabIndex={0}
      >
        <table class="log">
          <tbody>
            {entries.map((entry, index) =>
              "line" in entry ? (
                <Line key={index} entry={entry} hasWorkers={hasWorkers} />
              ) : (
                <tr key={index} class="log-finding">
                  <td>{shownTime(entry.time - jobStart.value)}</td>
                  <td colSpan={3}>
                    <span class={`mark ${entry.finding.severity}`}>{entry.finding.severity}</span>{" "}
                    <a href={findingLink(entry.finding)}>{entry.finding.rule}</a>{" "}
                    {entry.finding.message}
                  </td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      </div>
    </>
  );
}

type LineProps = { entry: { line: LogLine; isNewStep: boolean }; hasWorkers: boolean };

function Line({ entry: { line, isNewStep }, hasWorkers }: LineProps): JSX.Element {
  const at = line.time - jobStart.value;
  const around = rangeText([Math.max(0, at - AROUND_SECONDS), at + AROUND_SECONDS]);
  const step = `${line.mode === "train" ? "step" : line.mode} ${formatCount(line.step)}`;
  return (
    <tr class={`${line.stream}${isNewStep ? " new-step" : ""}`}>
      <td class="log-time">
        <a href={linkTo("timeline", undefined, { t: around })} title="Show on the timeline">
          {shownTime(at)}
        </a>
      </td>
      <td class="log-step">{isNewStep ? step : ""}</td>
      <td class="log-worker">{hasWorkers ? line.worker : ""}</td>
      <td class="log-text">
        {line.stream === "omitted"
          ? `… ${pluralize(Number(line.text), "line")} omitted`
          : line.text}
      </td>
    </tr>
  );
}

function SearchField({ value }: { value: string }): JSX.Element {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setParameters({ find: text }), 250);
  };
  return (
    <input
      type="search"
      class="search end"
      placeholder="Search lines (regular expression)"
      aria-label="Search lines"
      value={value}
      onInput={(event) => change(event.currentTarget.value)}
    />
  );
}
