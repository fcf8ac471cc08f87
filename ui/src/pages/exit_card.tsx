// Why a job failed: the reason, the worker and the traceback.

import { Fragment, type JSX } from "preact";
import type { ExitDocument, JobDocument } from "../api";
import type { FailingLineDocument } from "../generated/api_types";

const REASONS: Record<string, string> = {
  exception: "Uncaught exception",
  signal: "Killed by a signal",
  "host-out-of-memory": "Out of host memory (killed by the kernel or the cgroup)",
  "device-out-of-memory": "Out of device memory",
  exit: "Exited with an error",
  stopped: "Stopped",
};

/** The reason why a job failed as a heading; null if it succeeded or is running. */
export function exitTitle(document: Pick<JobDocument, "state" | "exit">): string | null {
  const { state, exit } = document;
  if (!["failed", "stopped", "lost"].includes(state)) return null;
  if (state === "lost") return "Lost contact with the launcher. The command may still be running";
  if (!exit) return "Ended for an unknown reason";
  const title = REASONS[exit.reason ?? ""] ?? "Failed";
  return exit.worker === null ? title : `${title} in worker ${exit.worker}`;
}

/** Exit code, signal and remaining processes, unless title or message name them already. */
export function exitFacts(exit: ExitDocument): [string, string][] {
  const facts: [string, string][] = [];
  if (exit.code !== null && !exit.message?.includes(`exit code ${exit.code}`))
    facts.push(["exit code", String(exit.code)]);
  if (exit.signal && !exit.message?.includes(exit.signal)) facts.push(["signal", exit.signal]);
  if (exit.left_running?.length)
    facts.push(["still running", exit.left_running.map((pid) => `process ${pid}`).join(", ")]);
  return facts;
}

/** Where the user's code failed: "train.py:12, in train". */
export function failingLine(line: FailingLineDocument): string {
  const isNamed = line.function !== "" && line.function !== "<module>";
  return `${line.file}:${line.line}${isNamed ? `, in ${line.function}` : ""}`;
}

/** The lines of the traceback, and whether they are those of the failing line. */
export function markedTraceback(exit: ExitDocument): [string, boolean][] {
  const at = exit.failed_at;
  const last = at ? at.row + (at.code ? 1 : 0) : -1;
  return (exit.traceback ?? "")
    .split("\n")
    .map((line, row) => [line, at !== null && row >= at.row && row <= last]);
}

const MAX_OUTPUT_LINES = 12;

/** The last lines by stream; without stderr if there is a traceback, which ends it. */
export function lastOutput(
  document: Pick<JobDocument, "exit" | "output_tail">,
): [string, string[]][] {
  const { stdout, stderr } = document.output_tail;
  const streams: [string, string[]][] = [
    ["stdout", stdout],
    ["stderr", document.exit?.traceback ? [] : stderr],
  ];
  return streams
    .map(([stream, lines]): [string, string[]] => [stream, lines.slice(-MAX_OUTPUT_LINES)])
    .filter(([, lines]) => lines.length > 0);
}

export function ExitCard({ document }: { document: JobDocument }): JSX.Element | null {
  const title = exitTitle(document);
  if (title === null) return null;
  const exit = document.exit;
  const node = document.lives.find((life) => life.worker === exit?.worker)?.node;
  const facts = exit ? exitFacts(exit) : [];
  if (node && document.nodes.length > 1) facts.push(["node", node]);
  return (
    <section
      class={`card exit-card state-${document.state}`}
      aria-labelledby="exit-title"
      data-chart="exit"
    >
      <h2 id="exit-title">{title}</h2>
      {exit?.message && <p class="message">{exit.message}</p>}
      {facts.length > 0 && (
        <p class="sub">{facts.map(([name, value]) => `${name} ${value}`).join(" · ")}</p>
      )}
      {exit?.failed_at && (
        <p class="failed-at">
          <b>Failed at </b>
          {failingLine(exit.failed_at)} <code class="failing">{exit.failed_at.code}</code>
        </p>
      )}
      {exit?.traceback && (
        <pre role="region" tabIndex={0} aria-label="Traceback">
          {markedTraceback(exit).map(([line, isFailing], row) =>
            isFailing ? (
              <b key={row} class="failing">{`${line}\n`}</b>
            ) : (
              <Fragment key={row}>{`${line}\n`}</Fragment>
            ),
          )}
        </pre>
      )}
      {lastOutput(document).map(([stream, lines]) => (
        <Fragment key={stream}>
          <h3>Last lines of {stream}</h3>
          <pre role="region" tabIndex={0} aria-label={`Last lines of ${stream}`}>
            {lines.join("\n")}
          </pre>
        </Fragment>
      ))}
    </section>
  );
}
