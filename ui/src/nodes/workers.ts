// The selected worker: the one in the URL, or the first of the node.

import type { JobDocument, WorkerDocument } from "../api";
import { route } from "../router";
import { job } from "../state";

export function workersOf(document: JobDocument | null, node: string): WorkerDocument[] {
  const every = document?.workers ?? [];
  const local = every.filter((worker) => worker.node === node);
  return local.length ? local : every;
}

/** The rank of the selected worker; null if the job has no workers. */
export function chosenWorker(node: string): number | null {
  const candidates = workersOf(job.value, node);
  const selected = candidates.find(
    (worker) => String(worker.rank) === route.value.parameters.worker,
  );
  return (selected ?? candidates[0])?.rank ?? null;
}
