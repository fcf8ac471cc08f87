// Which worker is looked at: the one in the address, else the first of the node.

import type { JobDocument, WorkerDocument } from "../api";
import { route } from "../router";
import { job } from "../state";

export function workersOf(document: JobDocument | null, node: string): WorkerDocument[] {
  const every = document?.workers ?? [];
  const own = every.filter((worker) => worker.node === node);
  return own.length ? own : every;
}

/** The rank; null where the job has no workers. */
export function chosenWorker(node: string): number | null {
  const own = workersOf(job.value, node);
  const wanted = own.find((worker) => String(worker.rank) === route.value.parameters.worker);
  return (wanted ?? own[0])?.rank ?? null;
}
