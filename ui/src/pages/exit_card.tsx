// Why a job failed: the reason, the worker and the traceback.

import type { JSX } from "preact";
import type { ExitDocument, JobDocument } from "../api";

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

/** Exit code, signal, worker and remaining processes. */
export function exitFacts(exit: ExitDocument): [string, string][] {
  const facts: [string, string][] = [];
  if (exit.code !== null) facts.push(["exit code", String(exit.code)]);
  if (exit.signal) facts.push(["signal", exit.signal]);
  if (exit.worker !== null) facts.push(["worker", String(exit.worker)]);
  if (exit.left_running?.length)
    facts.push(["still running", exit.left_running.map((pid) => `process ${pid}`).join(", ")]);
  return facts;
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
      {exit?.traceback && (
        <pre role="region" tabIndex={0} aria-label="Traceback">
          {exit.traceback}
        </pre>
      )}
    </section>
  );
}
