// A job that died says why, first: what happened, in which worker, and the traceback.

import type { JSX } from "preact";
import type { ExitDocument, JobDocument } from "../api";

const REASONS: Record<string, string> = {
  exception: "An exception was not caught",
  signal: "Killed by a signal",
  "host-out-of-memory": "Out of memory: the kernel or the control group killed it",
  "device-out-of-memory": "Out of memory on a device",
  exit: "It ended with an error code",
  stopped: "It was stopped",
};

/** Why a job ended, in the words of a heading; null where it went well or still runs. */
export function deathTitle(document: Pick<JobDocument, "state" | "exit">): string | null {
  const { state, exit } = document;
  if (!["failed", "stopped", "lost"].includes(state)) return null;
  if (state === "lost") return "Its launcher vanished without a word; the command may still run";
  if (!exit) return "Nobody knows why it ended";
  const title = REASONS[exit.reason ?? ""] ?? "It failed";
  return exit.worker === null ? title : `${title}, in worker ${exit.worker}`;
}

/** What is known of the end beside the message. */
export function endFacts(exit: ExitDocument): [string, string][] {
  const facts: [string, string][] = [];
  if (exit.code !== null) facts.push(["exit code", String(exit.code)]);
  if (exit.signal) facts.push(["signal", exit.signal]);
  if (exit.worker !== null) facts.push(["worker", String(exit.worker)]);
  if (exit.left_running?.length)
    facts.push(["still running", exit.left_running.map((pid) => `process ${pid}`).join(", ")]);
  return facts;
}

export function Death({ document }: { document: JobDocument }): JSX.Element | null {
  const title = deathTitle(document);
  if (title === null) return null;
  const exit = document.exit;
  const node = document.lives.find((one) => one.worker === exit?.worker)?.node;
  const facts = exit ? endFacts(exit) : [];
  if (node && document.nodes.length > 1) facts.push(["node", node]);
  return (
    <section
      class={`card death state-${document.state}`}
      aria-labelledby="death-title"
      data-chart="death"
    >
      <h2 id="death-title">{title}</h2>
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
